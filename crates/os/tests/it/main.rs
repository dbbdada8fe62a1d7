//! Files and children against the real system.

#[cfg(test)]
#[cfg(unix)]
mod child;
#[cfg(test)]
#[cfg(unix)]
mod death;
#[cfg(test)]
mod files;
