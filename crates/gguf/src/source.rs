use std::io::Read;

use plimsoll_units::Bytes;

use crate::{HeaderError, Limited, Limits};

/// A reader that knows where it is, how long the file is and how much of it may be header.
///
/// Every length that the file claims is held against both before a byte of it is read, and buffers grow with the
/// bytes that arrive, never with the claim.
pub(crate) struct Source<R> {
    input: R,
    at: u64,
    file_bytes: Bytes,
    limit: Bytes,
}

const PIECE: usize = 64 << 10;

impl<R: Read> Source<R> {
    pub(crate) fn new(input: R, file_bytes: Bytes, limits: &Limits) -> Self {
        Self {
            input,
            at: 0,
            file_bytes,
            limit: limits.header_bytes,
        }
    }

    /// A reader that begins in the middle of a file, at `at`.
    pub(crate) fn from(input: R, at: Bytes, file_bytes: Bytes, limits: &Limits) -> Self {
        Self {
            input,
            at: at.0,
            file_bytes,
            limit: limits.header_bytes,
        }
    }

    pub(crate) const fn position(&self) -> u64 {
        self.at
    }

    /// Checks that `more` bytes may follow from here.
    fn expect(&self, more: u64) -> Result<(), HeaderError> {
        let end = self.at.saturating_add(more);
        if end > self.limit.0 {
            return Err(HeaderError::TooLarge {
                what: Limited::HeaderBytes,
                claimed: end,
                limit: self.limit.0,
            });
        }
        if end > self.file_bytes.0 {
            return Err(HeaderError::Cut {
                needed: Bytes(end),
                have: self.file_bytes,
            });
        }
        Ok(())
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<(), HeaderError> {
        let start = self.at;
        let needed = Bytes(start.saturating_add(buffer.len() as u64));
        let mut done = 0;
        while done < buffer.len() {
            match self.input.read(&mut buffer[done..]) {
                Ok(0) => {
                    return Err(HeaderError::Cut {
                        needed,
                        have: Bytes(self.at),
                    });
                }
                Ok(n) => {
                    done += n;
                    self.at += n as u64;
                }
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(source) => return Err(HeaderError::Read { source }),
            }
        }
        Ok(())
    }

    pub(crate) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        self.expect(N as u64)?;
        let mut buffer = [0; N];
        self.fill(&mut buffer)?;
        Ok(buffer)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, HeaderError> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, HeaderError> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// A length that must not pass `limit`.
    pub(crate) fn count(&mut self, what: Limited, limit: u64) -> Result<u64, HeaderError> {
        let claimed = self.u64()?;
        if claimed > limit {
            return Err(HeaderError::TooLarge { what, claimed, limit });
        }
        Ok(claimed)
    }

    /// A length-prefixed run of bytes.
    pub(crate) fn text(&mut self, what: Limited, limit: u64) -> Result<Vec<u8>, HeaderError> {
        let len = self.count(what, limit)?;
        self.expect(len)?;
        let mut text = Vec::new();
        let mut left = len;
        while left > 0 {
            let piece = usize::try_from(left).map_or(PIECE, |left| left.min(PIECE));
            let start = text.len();
            text.resize(start + piece, 0);
            self.fill(&mut text[start..])?;
            left -= piece as u64;
        }
        Ok(text)
    }

    pub(crate) fn skip(&mut self, len: u64) -> Result<(), HeaderError> {
        self.expect(len)?;
        let mut left = len;
        let mut buffer = [0; 4096];
        while left > 0 {
            let piece = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
            self.fill(&mut buffer[..piece])?;
            left -= piece as u64;
        }
        Ok(())
    }
}
