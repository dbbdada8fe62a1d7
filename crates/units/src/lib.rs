//! Bytes, tokens, rates and amounts of money, with arithmetic that cannot overflow.
//!
//! Never holds a quantity without its unit, never a size as a float, never wraps: what does not fit into the
//! type saturates (sums and differences for display) or is `None` (sums that decide something).

mod bytes;
mod money;
mod rate;

pub use bytes::Bytes;
pub use money::PicoDollars;
pub use rate::{BytesPerSecond, Tokens, TokensPerSecond};
