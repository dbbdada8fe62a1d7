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
    use windows::Win32::Foundation::LUID;
    use windows::Win32::Graphics::Dxgi::{
        CreateDXGIFactory1, DXGI_ADAPTER_DESC1, DXGI_ADAPTER_FLAG_SOFTWARE, DXGI_ERROR_NOT_FOUND,
        DXGI_MEMORY_SEGMENT_GROUP, DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL,
        DXGI_QUERY_VIDEO_MEMORY_INFO, IDXGIAdapter1, IDXGIAdapter3, IDXGIFactory1,
    };
    use windows::core::Interface;

    use super::{Asked, DxgiAdapter};

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
            luid: Some(number(about.AdapterLuid)),
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

    /// As one number, the way Windows prints it.
    fn number(luid: LUID) -> String {
        let high = luid.HighPart.cast_unsigned();
        format!("{:x}", (u64::from(high) << 32) | u64::from(luid.LowPart))
    }

    fn name(description: &[u16]) -> String {
        let end = description
            .iter()
            .position(|&unit| unit == 0)
            .unwrap_or(description.len());
        String::from_utf16_lossy(&description[..end])
    }
}
