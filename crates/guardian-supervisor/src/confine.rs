//! Confining a program without namespaces: Landlock for files, signals and sockets, seccomp for
//! what Landlock has no word for.
//!
//! Both bind the *thread* that asks and everything started from it; the supervisor itself must
//! stay free to end what it owns. So a thread of its own confines itself, starts the program, and
//! ends. The rules are only ever tightened: what a kernel does not know is left out here and said
//! by the host (`Launch` is refused where the user requires all of it).

use std::process::{Child, Command};

use crate::protocol::Confine;

/// Version of Landlock that works here; 0 where it does not.
pub(crate) fn kernel_support() -> u32 {
    let probe = std::thread::Builder::new().spawn(imp::probe);
    probe
        .ok()
        .and_then(|thread| thread.join().ok())
        .unwrap_or(0)
}

/// Starts the program confined. The outer error says why it cannot be, the inner one why the
/// program did not start.
pub(crate) fn spawn(
    mut command: Command,
    confine: Confine,
) -> Result<std::io::Result<Child>, String> {
    let thread = std::thread::Builder::new().spawn(move || {
        imp::confine_this_thread(&confine)?;
        Ok(command.spawn())
    });
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(started)) => started,
        Ok(Err(_)) => Err("the confining thread met a fault".to_owned()),
        Err(error) => Err(format!("no thread to confine from: {error}")),
    }
}

#[cfg(target_os = "linux")]
mod imp {
    use std::collections::BTreeMap;
    use std::path::Path;

    use landlock::{
        ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, Ruleset, RulesetAttr,
        RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
    };
    use rustix::thread::{CapabilitySet, CapabilitySets};
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule,
    };

    use super::Confine;

    /// The newest Landlock whose rights these rules were written and tested with.
    const KNOWN: ABI = ABI::V7;

    /// Devices that every program may use.
    const DEVICES: &[&str] = &[
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
    ];

    pub(super) fn probe() -> u32 {
        let restricted = Ruleset::default()
            .handle_access(AccessFs::from_all(KNOWN))
            .and_then(Ruleset::create)
            .and_then(landlock::RulesetCreated::restrict_self);
        match restricted.map(|status| status.landlock) {
            Ok(LandlockStatus::Available { effective_abi, .. }) => (0..=10)
                .rev()
                .find(|&version| ABI::from(version) <= effective_abi)
                .and_then(|version| u32::try_from(version).ok())
                .unwrap_or(0),
            _ => 0,
        }
    }

    pub(super) fn confine_this_thread(confine: &Confine) -> Result<(), String> {
        drop_capabilities()?;
        restrict_files(confine).map_err(|error| format!("Landlock: {error}"))?;
        for filter in filters(confine.network).map_err(|error| format!("seccomp: {error}"))? {
            seccompiler::apply_filter(&filter).map_err(|error| format!("seccomp: {error}"))?;
        }
        Ok(())
    }

    /// Root without capabilities, also after `exec`: to files like `/proc/sys` it is still root,
    /// but those are not writable here.
    fn drop_capabilities() -> Result<(), String> {
        for bit in 0..64 {
            // Not known to this kernel, or nobody to drop it: then there is none to gain either,
            // because `no_new_privs` is set.
            let one = CapabilitySet::from_bits_retain(1 << bit);
            let _ = rustix::thread::remove_capability_from_bounding_set(one);
        }
        let none = CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        };
        rustix::thread::set_capabilities(None, none)
            .map_err(|error| format!("capabilities cannot be dropped: {error}"))
    }

    fn restrict_files(confine: &Confine) -> Result<(), String> {
        let all = AccessFs::from_all(KNOWN);
        let read = AccessFs::from_read(KNOWN);
        // Nobody needs to make a device.
        let write: BitFlags<AccessFs> = all & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let list: BitFlags<AccessFs> = AccessFs::ReadDir.into();
        let device: BitFlags<AccessFs> =
            AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let text = |error: landlock::RulesetError| error.to_string();
        let mut ruleset = Ruleset::default()
            .handle_access(all)
            .and_then(|ruleset| ruleset.scope(Scope::from_all(KNOWN)))
            .map_err(text)?;
        if !confine.network {
            ruleset = ruleset
                .handle_access(AccessNet::from_all(KNOWN))
                .map_err(text)?;
        }
        let created = ruleset.create().map_err(text)?;
        let created = created
            .add_rules(path_beneath_rules(&confine.readable, read))
            .and_then(|created| created.add_rules(path_beneath_rules(&confine.listable, list)))
            .and_then(|created| created.add_rules(path_beneath_rules(&confine.writable, write)))
            // The judged directory by its handle, which is this process's working directory.
            .and_then(|created| created.add_rules(path_beneath_rules([Path::new(".")], write)))
            .and_then(|created| created.add_rules(path_beneath_rules(DEVICES, device)))
            .map_err(text)?;
        let status = created.restrict_self().map_err(text)?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err("is not enforced here".to_owned()),
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        }
    }

    /// System calls that no build, test or search needs, and that reach past files: mounts,
    /// namespaces, kernel keys and modules, clocks, and files by handle.
    const REFUSED: &[libc::c_long] = &[
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_mount_setattr,
        libc::SYS_setns,
        libc::SYS_unshare,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
        libc::SYS_userfaultfd,
        libc::SYS_keyctl,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_kexec_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_reboot,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_clock_adjtime,
        libc::SYS_adjtimex,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_syslog,
        libc::SYS_open_by_handle_at,
        libc::SYS_pidfd_getfd,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_iopl,
        #[cfg(target_arch = "x86_64")]
        libc::SYS_ioperm,
    ];

    /// System calls whose arguments a filter cannot see, and for which programs have another way:
    /// they are told that this kernel lacks them.
    const ABSENT: &[libc::c_long] = &[
        libc::SYS_clone3,
        libc::SYS_io_uring_setup,
        libc::SYS_io_uring_enter,
        libc::SYS_io_uring_register,
    ];

    /// Flags of `clone` that make a namespace.
    const NAMESPACES: &[libc::c_int] = &[
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ];

    /// Kinds of sockets that a command with network may make.
    const SOCKETS: &[libc::c_int] = &[
        libc::AF_UNIX,
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
    ];

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    fn filters(network: bool) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
        let mut refused = Rules::new();
        for &call in REFUSED {
            refuse(&mut refused, call, Vec::new());
        }
        let clone_rules = NAMESPACES
            .iter()
            .map(|&flag| {
                let flag = u64::from(flag.unsigned_abs());
                SeccompRule::new(vec![SeccompCondition::new(
                    0,
                    SeccompCmpArgLen::Dword,
                    SeccompCmpOp::MaskedEq(flag),
                    flag,
                )?])
            })
            .collect::<Result<Vec<_>, _>>()?;
        refuse(&mut refused, libc::SYS_clone, clone_rules);
        let socket_rules = if network {
            let other_kind = SOCKETS
                .iter()
                .map(|&kind| {
                    SeccompCondition::new(
                        0,
                        SeccompCmpArgLen::Dword,
                        SeccompCmpOp::Ne,
                        u64::from(kind.unsigned_abs()),
                    )
                })
                .collect::<Result<Vec<_>, _>>()?;
            vec![SeccompRule::new(other_kind)?]
        } else {
            // A socket of the file system leads to daemons as well: none at all. What a program
            // uses among its own processes is `socketpair`.
            Vec::new()
        };
        refuse(&mut refused, libc::SYS_socket, socket_rules);
        let mut absent = Rules::new();
        for &call in ABSENT {
            refuse(&mut absent, call, Vec::new());
        }
        Ok([
            compile(refused, libc::EPERM)?,
            compile(absent, libc::ENOSYS)?,
        ])
    }

    /// An empty list of rules matches every use of the call. The calls of the x32 ABI are those
    /// of x86-64 with a bit set, on the same architecture as far as a filter can see.
    fn refuse(rules: &mut Rules, call: libc::c_long, when: Vec<SeccompRule>) {
        const X32: i64 = 0x4000_0000;
        if cfg!(target_arch = "x86_64") {
            rules.insert(call | X32, when.clone());
        }
        rules.insert(call, when);
    }

    fn compile(rules: Rules, errno: libc::c_int) -> Result<BpfProgram, seccompiler::BackendError> {
        SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(errno.unsigned_abs()),
            std::env::consts::ARCH.try_into()?,
        )?
        .try_into()
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn filters_compile_with_and_without_network() {
            for network in [true, false] {
                let [refused, absent] = filters(network).unwrap();
                assert!(!refused.is_empty() && !absent.is_empty());
                // The kernel's bound.
                assert!(refused.len() < 4096, "{}", refused.len());
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use super::Confine;

    pub(super) fn probe() -> u32 {
        0
    }

    pub(super) fn confine_this_thread(_confine: &Confine) -> Result<(), String> {
        Err("Landlock is a feature of Linux".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_does_not_confine_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let _ = kernel_support();
        std::fs::write(directory.path().join("x"), "x").unwrap();
    }

    #[test]
    fn what_is_not_named_cannot_be_opened_and_the_supervisor_stays_free() {
        if kernel_support() == 0 {
            eprintln!("no Landlock here: the confinement is not tested");
            return;
        }
        let directory = tempfile::tempdir().unwrap();
        let (inside, outside) = (directory.path().join("in"), directory.path().join("out"));
        for path in [&inside, &outside] {
            std::fs::create_dir(path).unwrap();
        }
        std::fs::write(outside.join("secret"), "s").unwrap();
        let mut command = Command::new("/bin/sh");
        command
            .args([
                "-c",
                "echo x > made; cat ../out/secret; echo x > ../out/made; true",
            ])
            .current_dir(&inside)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null());
        // The working directory of the rules is this process's own: named by path here.
        let confine = Confine {
            readable: ["/usr", "/bin", "/lib", "/lib64", "/etc"]
                .map(Into::into)
                .into(),
            writable: vec![inside.clone()],
            ..Confine::default()
        };
        let child = spawn(command, confine).unwrap().unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        assert_eq!(output.stdout, b"");
        assert!(inside.join("made").exists());
        assert!(!outside.join("made").exists());
        std::fs::write(outside.join("ours"), "x").unwrap();
    }
}
