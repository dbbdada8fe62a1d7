//! Recorded machines, judged.

#[cfg(test)]
mod damaged;
#[cfg(test)]
mod exceptions;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod here;
#[cfg(test)]
mod interfaces;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod reports;
#[cfg(test)]
mod variants;
