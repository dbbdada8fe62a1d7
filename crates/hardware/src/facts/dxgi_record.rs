//! Asking DXGI, which on Windows knows every adapter, its memory, and how much of it Windows grants now.

use super::graphics::{Asked, DxgiAdapter};

#[cfg(not(windows))]
pub(super) fn ask_here() -> Asked<DxgiAdapter> {
    Asked::LibraryMissing
}

#[cfg(windows)]
pub(super) use windows_only::ask_here;

#[cfg(windows)]
mod windows_only {
    #![expect(
        unsafe_code,
        reason = "DXGI is a C interface; every call here only reads descriptions"
    )]

    use plimsoll_units::Bytes;
    use windows::Win32::Graphics::Dxgi::{
        CreateDXGIFactory1, DXGI_ADAPTER_DESC1, DXGI_ADAPTER_FLAG_SOFTWARE, DXGI_ERROR_NOT_FOUND,
        DXGI_MEMORY_SEGMENT_GROUP, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL,
        DXGI_QUERY_VIDEO_MEMORY_INFO, IDXGIAdapter1, IDXGIAdapter3, IDXGIFactory1,
    };
    use windows::core::Interface;

    use super::{Asked, DxgiAdapter, name, number};

    const ADAPTERS_MAX: u32 = 64;

    pub(in crate::facts) fn ask_here() -> Asked<DxgiAdapter> {
        match adapters() {
            Ok(devices) => Asked::Answered { devices },
            Err(error) => Asked::Failed {
                cause: error.to_string(),
            },
        }
    }

    fn adapters() -> windows::core::Result<Vec<DxgiAdapter>> {
        // SAFETY: takes nothing; the object that it makes counts its own references.
        let factory: IDXGIFactory1 = unsafe { CreateDXGIFactory1() }?;
        let mut found = Vec::new();
        for index in 0..ADAPTERS_MAX {
            // SAFETY: the factory lives; an index past the end is answered with "not found".
            let adapter = match unsafe { factory.EnumAdapters1(index) } {
                Ok(adapter) => adapter,
                Err(error) if error.code() == DXGI_ERROR_NOT_FOUND => break,
                Err(error) => return Err(error),
            };
            // SAFETY: the adapter lives.
            let about = unsafe { adapter.GetDesc1() }?;
            found.push(read(&adapter, &about));
        }
        Ok(found)
    }

    fn read(adapter: &IDXGIAdapter1, about: &DXGI_ADAPTER_DESC1) -> DxgiAdapter {
        let (own, shared) = (
            granted(adapter, DXGI_MEMORY_SEGMENT_GROUP_LOCAL),
            granted(adapter, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL),
        );
        let software = u32::try_from(DXGI_ADAPTER_FLAG_SOFTWARE.0).is_ok_and(|flag| about.Flags & flag != 0);
        DxgiAdapter {
            name: name(&about.Description),
            vendor_id: Some(about.VendorId),
            device_id: Some(about.DeviceId),
            luid: Some(number(about.AdapterLuid.HighPart, about.AdapterLuid.LowPart)),
            software,
            dedicated_video_bytes: Some(Bytes(about.DedicatedVideoMemory as u64)),
            dedicated_system_bytes: Some(Bytes(about.DedicatedSystemMemory as u64)),
            shared_system_bytes: Some(Bytes(about.SharedSystemMemory as u64)),
            local_budget_bytes: own.map(|own| Bytes(own.Budget)),
            local_usage_bytes: own.map(|own| Bytes(own.CurrentUsage)),
            shared_budget_bytes: shared.map(|shared| Bytes(shared.Budget)),
            shared_usage_bytes: shared.map(|shared| Bytes(shared.CurrentUsage)),
        }
    }

    fn granted(
        adapter: &IDXGIAdapter1,
        group: DXGI_MEMORY_SEGMENT_GROUP,
    ) -> Option<DXGI_QUERY_VIDEO_MEMORY_INFO> {
        // Windows 10 and later; the processor's own adapter answers with an error.
        let adapter: IDXGIAdapter3 = adapter.cast().ok()?;
        let mut said = DXGI_QUERY_VIDEO_MEMORY_INFO::default();
        // SAFETY: the adapter lives, node 0 always exists, and the place for the answer is ours.
        unsafe { adapter.QueryVideoMemoryInfo(0, group, &raw mut said) }.ok()?;
        Some(said)
    }
}

/// A LUID as one number, the way Windows prints it.
#[cfg(any(windows, test))]
fn number(high: i32, low: u32) -> String {
    format!("{:x}", (u64::from(high.cast_unsigned()) << 32) | u64::from(low))
}

#[cfg(any(windows, test))]
fn name(description: &[u16]) -> String {
    let end = description
        .iter()
        .position(|&unit| unit == 0)
        .unwrap_or(description.len());
    String::from_utf16_lossy(&description[..end])
}

#[cfg(test)]
mod tests {
    use super::{name, number};

    #[test]
    fn a_name_ends_at_its_zero_and_a_luid_is_one_number() {
        let mut description = [0_u16; 128];
        for (place, unit) in description.iter_mut().zip("Radeon™ 780M".encode_utf16()) {
            *place = unit;
        }
        assert_eq!(name(&description), "Radeon™ 780M");
        assert_eq!(name(&[u16::from(b'A'); 4]), "AAAA", "one without an end");
        assert_eq!(number(0, 0xff6b), "ff6b");
        assert_eq!(number(-1, 1), "ffffffff00000001");
    }
}
