//! Integration tests of guardian-redact.

#[cfg(test)]
mod shapes;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod text;
