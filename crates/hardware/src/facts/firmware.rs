//! What the firmware and the kernel's parameters say on Linux: maker and model, the memory modules where they
//! may be read, AMD's compute driver, and the switches that change what a GPU may borrow.

use plimsoll_units::Bytes;

use super::linux::{Reader, Said};
use super::modules;

/// Which machine it is. Serial numbers lie beside these, for root only, and stay there.
const DMI: [&str; 8] = [
    "sys_vendor",
    "product_name",
    "product_family",
    "product_version",
    "board_vendor",
    "board_name",
    "chassis_type",
    "bios_version",
];
/// How much RAM amdgpu lends its GPUs.
const PARAMETERS: [&str; 4] = [
    "/sys/module/ttm/parameters/pages_limit",
    "/sys/module/amdttm/parameters/pages_limit",
    "/sys/module/amdgpu/parameters/gttsize",
    "/sys/module/amdgpu/parameters/vramlimit",
];
/// The words of the kernel's command line that have to do with memory and GPUs; the others name disks.
const SWITCHES: [&str; 8] = [
    "mem=", "amdgpu.", "ttm.", "amdttm.", "i915.", "xe.", "nvidia", "iommu",
];
/// The fields of a KFD node that a judgement can use; `unique_id` is a serial number.
const NODE_FIELDS: [&str; 10] = [
    "cpu_cores_count ",
    "simd_count ",
    "simd_per_cu ",
    "gfx_target_version ",
    "vendor_id ",
    "device_id ",
    "location_id ",
    "domain ",
    "local_mem_size ",
    "max_engine_clk_fcompute ",
];
const NODES_MAX: usize = 64;
const BANKS_MAX: usize = 16;
/// The table of a server with 64 modules has about 10 KiB.
const SMBIOS_MAX: Bytes = Bytes::kib(256);

pub(super) fn read(reader: &Reader, said: &mut Said) {
    for file in DMI {
        reader.keep(said, &format!("/sys/class/dmi/id/{file}"));
    }
    for file in PARAMETERS {
        reader.keep(said, file);
    }
    switches(reader, said);
    compute_nodes(reader, said);
    // Readable by root as a rule; others know the modules no less without.
    if let Some(table) = reader.bytes("/sys/firmware/dmi/tables/DMI", SMBIOS_MAX) {
        let lines = modules::lines(&table);
        if !lines.is_empty() {
            said.insert("dmidecode -t 17".to_owned(), lines);
        }
    }
}

fn switches(reader: &Reader, said: &mut Said) {
    let Some(line) = reader.value("/proc/cmdline") else {
        return;
    };
    let kept: Vec<&str> = line
        .split_ascii_whitespace()
        .filter(|word| SWITCHES.iter().any(|switch| word.starts_with(switch)))
        .collect();
    if !kept.is_empty() {
        said.insert("/proc/cmdline".to_owned(), vec![kept.join(" ")]);
    }
}

/// AMD's compute driver lists processors and GPUs as nodes of one topology.
fn compute_nodes(reader: &Reader, said: &mut Said) {
    const TOPOLOGY: &str = "/sys/class/kfd/kfd/topology/nodes";
    for node in reader.names(TOPOLOGY).into_iter().take(NODES_MAX) {
        let folder = format!("{TOPOLOGY}/{node}");
        reader.keep(said, &format!("{folder}/name"));
        reader.keep_some(said, &format!("{folder}/properties"), |line| {
            NODE_FIELDS.iter().any(|field| line.starts_with(field))
        });
        let banks = format!("{folder}/mem_banks");
        for bank in reader.names(&banks).into_iter().take(BANKS_MAX) {
            reader.keep(said, &format!("{banks}/{bank}/properties"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::linux::tree;
    use super::*;

    #[test]
    fn a_machine_is_named_without_its_serial_numbers() {
        let (_root, reader) = tree(&[
            ("/sys/class/dmi/id/product_name", "NUC15CRH\n"),
            ("/sys/class/dmi/id/product_serial", "ABC123\n"),
            (
                "/proc/cmdline",
                "root=UUID=0f3c ro amdgpu.gttsize=131072 ttm.pages_limit=33554432 quiet\n",
            ),
            ("/sys/module/ttm/parameters/pages_limit", "33554432\n"),
            ("/sys/class/kfd/kfd/topology/nodes/1/name", "gfx1151\n"),
            (
                "/sys/class/kfd/kfd/topology/nodes/1/properties",
                "cpu_cores_count 0\nsimd_count 80\nunique_id 1234567\ngfx_target_version 110501\n",
            ),
            (
                "/sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/properties",
                "heap_type 1\nsize_in_bytes 68719476736\nwidth 256\nmem_clk_max 1000\n",
            ),
        ]);
        let mut said = Said::new();
        read(&reader, &mut said);
        assert_eq!(said["/sys/class/dmi/id/product_name"], ["NUC15CRH"]);
        assert_eq!(
            said["/proc/cmdline"],
            ["amdgpu.gttsize=131072 ttm.pages_limit=33554432"]
        );
        assert_eq!(
            said["/sys/class/kfd/kfd/topology/nodes/1/properties"],
            ["cpu_cores_count 0", "simd_count 80", "gfx_target_version 110501"]
        );
        let bank = &said["/sys/class/kfd/kfd/topology/nodes/1/mem_banks/0/properties"];
        assert!(bank.contains(&"width 256".to_owned()), "{bank:?}");
        let all = format!("{said:?}");
        for private in ["ABC123", "0f3c", "1234567"] {
            assert!(!all.contains(private), "{private} in {all}");
        }
    }
}
