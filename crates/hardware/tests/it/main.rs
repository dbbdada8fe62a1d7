//! Recorded machines, judged.

#[cfg(test)]
mod damaged;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod here;
#[cfg(test)]
mod recordings;
