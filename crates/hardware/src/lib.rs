//! What a computer is: first recorded, then judged.
//!
//! Recording ([`facts`]) asks the system and the drivers and keeps their answers as they came, so that a report
//! from another machine can be replayed. Judging ([`judge`]) is a pure function from such a record to a
//! [`Machine`], in which every number says where it comes from. Never asks an engine, never sums the memory of
//! devices, never calls a processor that draws pictures a GPU, and never claims more memory than was said.

mod bandwidth;
pub mod facts;
mod judge;
mod machine;
mod machine_file;
mod note;
mod overrides;
mod sample;
mod told;

pub use bandwidth::{HostBandwidth, measure_host_bandwidth};
pub use facts::{Facts, FactsError};
pub use judge::{is_software_rasteriser, judge};
pub use machine::{Backend, Class, Cpu, Device, DeviceKind, Machine, Memory, Os, Platform, Sourced};
pub use machine_file::MachineFileError;
pub use note::Note;
pub use overrides::{BY_PERSON, DeviceOverride, Overrides};
pub use sample::{DeviceUse, MemoryUse, Sample, Sampler};
