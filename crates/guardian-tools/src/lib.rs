//! tools

pub mod bash;
