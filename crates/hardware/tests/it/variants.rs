//! Outputs of the same tools in other versions, layouts and languages of the same thing than the recorded reports
//! have: each line below is in the form in which that tool prints, put together for this test.

mod forms;
mod systems;

use std::collections::BTreeMap;
use std::fmt::Write;

use plimsoll_hardware::{Facts, judge};

/// Class, RAM and devices in short: `Discrete ram 32000: Discrete NVIDIA GeForce RTX 3090 24576/24000`.
fn judged(os: &str, said: &[(&str, &[&str])]) -> String {
    let facts: BTreeMap<String, Vec<String>> = said
        .iter()
        .map(|(key, lines)| ((*key).to_owned(), lines.iter().map(ToString::to_string).collect()))
        .collect();
    let facts = Facts {
        os: os.to_owned(),
        facts,
        ..Facts::default()
    };
    let machine = judge(&facts);
    let mut row = format!("{:?} ram {}:", machine.class, machine.memory.total.0 >> 20);
    for device in &machine.devices {
        write!(
            row,
            " {:?} {} {}/{};",
            device.kind,
            device.name,
            device.total.0 >> 20,
            device.free.0 >> 20
        )
        .unwrap();
    }
    row
}

#[track_caller]
fn check(os: &str, said: &[(&str, &[&str])], expected: &str) {
    assert_eq!(judged(os, said), expected);
}

#[test]
fn nvidia_smi_in_older_and_odd_layouts() {
    check(
        "linux",
        &[(
            "nvidia-smi",
            &[
                "| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |",
                "|-------------------------------+----------------------+----------------------+",
                "| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |",
                "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | GPU-Util  Compute M. |",
                "|   0  Tesla T4            Off  | 00000000:00:04.0 Off |                    0 |",
                "| N/A   38C    P8     9W /  70W |      0MiB / 15109MiB |      0%      Default |",
                "|   1  NVIDIA GeForce ...  On   | 00000000:00:05.0 Off |                  N/A |",
                "| 30%   38C    P8    20W / 220W |      3MiB /  8192MiB |      0%      Default |",
                "| Processes:                                                                  |",
                "|  GPU   GI   CI        PID   Type   Process name                  GPU Memory |",
                "|    0   N/A  N/A      1234      G   /usr/lib/xorg/Xorg                100MiB |",
            ],
        )],
        "Discrete ram 0: Discrete Tesla T4 15109/15109; Discrete NVIDIA GeForce 8192/8189;",
    );
    check(
        "linux",
        &[
            (
                "nvidia-smi",
                &[
                    "|   0  NVIDIA GB10                    On  |   0000000F:01:00.0 Off |                  N/A |",
                    "| N/A   44C    P8              4W /  N/A  | Not Supported          |      0%      Default |",
                ],
            ),
            (
                "free -h",
                &[
                    "               total        used        free      shared  buff/cache   available",
                    "Mem:           119Gi        10Gi        90Gi       1.0Gi        18Gi       108Gi",
                ],
            ),
        ],
        "Unified ram 121856: Unified NVIDIA GB10 121856/110592;",
    );
    check(
        "linux",
        &[
            (
                "nvidia-smi",
                &[
                    "|   0  Orin (nvgpu)                  N/A  | N/A              N/A |                  N/A |",
                    "| N/A   N/A  N/A               N/A /  N/A | Not Supported        |     N/A          N/A |",
                ],
            ),
            (
                "tegrastats",
                &["RAM 3256/62841MB (lfb 12000x4MB) SWAP 0/31420MB CPU [1%@729]"],
            ),
        ],
        "Unified ram 62841: Unified Orin (nvgpu) 62841/62841;",
    );
}

#[test]
fn nvidia_smi_lists_queries_and_slices() {
    check(
        "linux",
        &[(
            "nvidia-smi --query-gpu=name,memory.total,memory.free --format=csv",
            &[
                "name, memory.total [MiB], memory.free [MiB]",
                "NVIDIA RTX A6000, 49140 MiB, 48676 MiB",
                "NVIDIA RTX A6000, 49140 MiB, 1000 MiB",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA RTX A6000 49140/48676; Discrete NVIDIA RTX A6000 49140/1000;",
    );
    check(
        "linux",
        &[(
            "nvidia-smi --query-gpu=index,name,memory.total,memory.used --format=csv,noheader,nounits",
            &["0, NVIDIA L40S, 46068, 512"],
        )],
        "Discrete ram 0: Discrete NVIDIA L40S 46068/45556;",
    );
    check(
        "linux",
        &[(
            "nvidia-smi -q",
            &[
                "==============NVSMI LOG==============",
                "Attached GPUs                             : 1",
                "GPU 00000000:65:00.0",
                "    Product Name                          : Quadro RTX 8000",
                "    MIG Mode",
                "        Current                           : N/A",
                "    FB Memory Usage",
                "        Total                             : 49152 MiB",
                "        Reserved                          : 449 MiB",
                "        Used                              : 10 MiB",
                "        Free                              : 48692 MiB",
                "    BAR1 Memory Usage",
                "        Total                             : 256 MiB",
            ],
        )],
        "Discrete ram 0: Discrete Quadro RTX 8000 49152/48692;",
    );
    check(
        "linux",
        &[(
            "nvidia-smi",
            &[
                "|   0  NVIDIA A100-SXM4-40GB          On  | 00000000:07:00.0 Off |                   On |",
                "| N/A   30C    P0              43W / 400W |      0MiB / 40960MiB |     N/A      Default |",
                "|                                         |                      |              Enabled |",
                "| MIG devices:                                                                         |",
                "| GPU  GI  CI  MIG |                   Memory-Usage |        Vol|      Shared           |",
                "|  0    1   0   0  |              37MiB / 19968MiB  | 42      0 |  3   0    2    0    0 |",
                "|                  |               0MiB / 32767MiB  |           |                       |",
                "|  0    2   0   1  |              37MiB / 19968MiB  | 42      0 |  3   0    2    0    0 |",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA A100-SXM4-40GB MIG 19968/19931;",
    );
    check(
        "linux",
        &[
            (
                "nvidia-smi -L",
                &[
                    "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-aaaaaaaa-0000-0000-0000-000000000000)",
                    "GPU 1: NVIDIA GeForce RTX 3060 (UUID: GPU-bbbbbbbb-0000-0000-0000-000000000000)",
                ],
            ),
            ("env", &["CUDA_VISIBLE_DEVICES=1"]),
        ],
        "Discrete ram 0: Discrete NVIDIA GeForce RTX 3060 0/0;",
    );
}

#[test]
fn a_driver_that_does_not_run_leaves_no_card() {
    for lines in [
        &["Failed to initialize NVML: Driver Not Loaded"][..],
        &["Failed to initialize NVML: Unknown Error"],
        &["No devices were found"],
        &["NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."],
    ] {
        check(
            "linux",
            &[
                (
                    "lspci | grep -i nvidia",
                    &[
                        "01:00.0 VGA compatible controller: NVIDIA Corporation AD104 [GeForce RTX 4070] (rev a1)",
                    ],
                ),
                ("nvidia-smi", lines),
            ],
            "CpuOnly ram 0:",
        );
    }
    check(
        "linux",
        &[
            (
                "llama-server",
                &[
                    "ggml_cuda_init: failed to initialize CUDA: CUDA driver version is insufficient for CUDA runtime version",
                ],
            ),
            (
                "nvidia-smi -L",
                &["GPU 0: Tesla K80 (UUID: GPU-00000000-0000-0000-0000-000000000000)"],
            ),
        ],
        "Discrete ram 0: Discrete Tesla K80 0/0;",
    );
}

#[test]
fn the_engine_in_its_backends() {
    check(
        "linux",
        &[(
            "llama-server --list-devices",
            &[
                "Available devices:",
                "  SYCL0: Intel(R) Arc(TM) A770 Graphics (15473 MiB, 15473 MiB free)",
                "  Vulkan0: Intel(R) Arc(tm) A770 Graphics (DG2) (16288 MiB, 15000 MiB free)",
            ],
        )],
        "Discrete ram 0: Discrete Intel(R) Arc(tm) A770 Graphics (DG2) 16288/15000;",
    );
    check(
        "linux",
        &[(
            "log",
            &[
                "ggml_sycl_init: found 1 SYCL devices:",
                "|  |                   |                                       |       |Max    |        |Max  |Global |                     |",
                "|ID|        Device Type|                                   Name|Version|units  |group   |group|size   |       Driver version|",
                "|--|-------------------|---------------------------------------|-------|-------|--------|-----|-------|---------------------|",
                "| 0| [level_zero:gpu:0]|                Intel Arc B580 Graphics|   20.1|    160|    1024|   32| 12168M|         1.6.31294+20|",
            ],
        )],
        "Discrete ram 0: Discrete Intel Arc B580 Graphics 12168/12168;",
    );
    check(
        "linux",
        &[(
            "llama-server --list-devices",
            &[
                "  CUDA0: NVIDIA GB10 (124610 MiB, 120000 MiB free)",
                "  RPC0: 192.168.100.2:50052 (124610 MiB, 121000 MiB free)",
            ],
        )],
        "Unified ram 124610: Unified NVIDIA GB10 124610/120000; Remote 192.168.100.2:50052 124610/121000;",
    );
    check(
        "linux",
        &[(
            "llama-cli",
            &[
                "ggml_cuda_init: found 2 ROCm devices (Total VRAM: 49120 MiB):",
                "  Device 0: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32, VRAM: 24560 MiB",
                "  Device 1: AMD Radeon RX 7900 XTX, gfx1100 (0x1100), VMM: no, Wave Size: 32, VRAM: 24560 MiB",
                "llama_model_load_from_file_impl: using device ROCm0 (AMD Radeon RX 7900 XTX) (0000:03:00.0) - 24400 MiB free",
            ],
        )],
        "Discrete ram 0: Discrete AMD Radeon RX 7900 XTX 24560/24400; Discrete AMD Radeon RX 7900 XTX 24560/24560;",
    );
    check(
        "windows",
        &[(
            "llama-cli",
            &[
                "ggml_vulkan: Found 1 Vulkan devices:",
                "ggml_vulkan: 0 = Intel(R) Arc(TM) Graphics (Intel Corporation) | uma: 1 | fp16: 1 | warp size: 32",
                "llama_model_load_from_file_impl: using device Vulkan0 (Intel(R) Arc(TM) Graphics) (unknown id) - 17000 MiB free",
            ],
        )],
        "Unified ram 0: Unified Intel(R) Arc(TM) Graphics 0/0;",
    );
    check(
        "linux",
        &[(
            "start",
            &[
                "ggml_opencl: selecting platform: 'QUALCOMM Snapdragon(TM)'",
                "ggml_opencl: selecting device: 'QUALCOMM Adreno(TM) 750 (OpenCL 3.0 Adreno(TM) 750)'",
            ],
        )],
        "CpuOnly ram 0: Integrated QUALCOMM Adreno(TM) 750 0/0;",
    );
}

#[test]
fn vulkaninfo_as_a_whole() {
    check(
        "linux",
        &[(
            "vulkaninfo",
            &[
                "Device Properties and Features:",
                "===============================",
                "GPU0:",
                "VkPhysicalDeviceProperties:",
                "	apiVersion        = 1.3.274 (4206866)",
                "	vendorID          = 0x1002",
                "	deviceID          = 0x744c",
                "	deviceType        = PHYSICAL_DEVICE_TYPE_DISCRETE_GPU",
                "	deviceName        = AMD Radeon RX 7900 XTX (RADV NAVI31)",
                "VkPhysicalDeviceMemoryProperties:",
                "memoryHeaps: count = 3",
                "	memoryHeaps[0]:",
                "		size   = 25484591104 (0x5ef000000) (23.73 GiB)",
                "		budget = 25000000000 (0x5ef000000) (23.28 GiB)",
                "		usage  = 0 (0x00000000) (0.00 B)",
                "		flags: count = 1",
                "			MEMORY_HEAP_DEVICE_LOCAL_BIT",
                "	memoryHeaps[1]:",
                "		size   = 33645985792 (0x7d5744000) (31.34 GiB)",
                "		flags:",
                "			None",
                "	memoryHeaps[2]:",
                "		size   = 268435456 (0x10000000) (256.00 MiB)",
                "		budget = 200000000 (0x10000000) (190.00 MiB)",
                "		flags: count = 1",
                "			MEMORY_HEAP_DEVICE_LOCAL_BIT",
                "memoryTypes: count = 11",
                "	memoryTypes[0]:",
                "		heapIndex     = 0",
                "GPU1:",
                "	deviceType        = PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU",
                "	deviceName        = AMD Ryzen 9 7950X 16-Core Processor (RADV RAPHAEL_MENDOCINO)",
                "GPU2:",
                "	deviceType        = PHYSICAL_DEVICE_TYPE_CPU",
                "	deviceName        = llvmpipe (LLVM 17.0.6, 256 bits)",
            ],
        )],
        "Discrete ram 64174: Discrete AMD Radeon RX 7900 XTX (RADV NAVI31) 24560/24032; \
         Integrated AMD Ryzen 9 7950X 16-Core Processor (RADV RAPHAEL_MENDOCINO) 32087/32087;",
    );
    check(
        "linux",
        &[(
            "vulkaninfo --summary",
            &[
                "GPU0:",
                "	deviceType         = PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU",
                "	deviceName         = Virtio-GPU Venus (AMD Radeon 780M Graphics (RADV PHOENIX))",
                "	driverName         = venus",
            ],
        )],
        "CpuOnly ram 0:",
    );
}

#[test]
fn rocm_in_its_tools() {
    check(
        "linux",
        &[(
            "rocminfo",
            &[
                "Agent 1",
                "  Name:                    AMD Ryzen 9 7950X 16-Core Processor",
                "  Marketing Name:          AMD Ryzen 9 7950X 16-Core Processor",
                "  Device Type:             CPU",
                "  Pool Info:",
                "    Pool 1",
                "      Segment:                 GLOBAL; FLAGS: FINE GRAINED",
                "      Size:                    65000000(0x3dfd240) KB",
                "Agent 2",
                "  Name:                    gfx1100",
                "  Uuid:                    GPU-1234567890abcdef",
                "  Marketing Name:          AMD Radeon RX 7900 XTX",
                "  Device Type:             GPU",
                "  Pool Info:",
                "    Pool 1",
                "      Segment:                 GLOBAL; FLAGS: COARSE GRAINED",
                "      Size:                    25149440(0x17fc000) KB",
                "  ISA Info:",
                "    Name:                    amdgcn-amd-amdhsa--gfx1100",
            ],
        )],
        "Discrete ram 63476: Discrete AMD Radeon RX 7900 XTX 24560/24560;",
    );
    check(
        "linux",
        &[
            (
                "rocm-smi --showmeminfo vram gtt",
                &[
                    "GPU[0]		: VRAM Total Memory (B): 68719476736",
                    "GPU[0]		: VRAM Total Used Memory (B): 1073741824",
                    "GPU[0]		: GTT Total Memory (B): 33520500736",
                ],
            ),
            (
                "rocm-smi --showproductname",
                &[
                    "GPU[0]		: Card Series: 		AMD Radeon 8060S Graphics",
                    "GPU[0]		: GFX Version: 		gfx1151",
                ],
            ),
        ],
        "Unified ram 0: Unified AMD Radeon 8060S Graphics 65536/64512;",
    );
    check(
        "linux",
        &[(
            "amd-smi static",
            &[
                "GPU: 0",
                "    ASIC:",
                "        MARKET_NAME: AMD Instinct MI210",
                "        VENDOR_ID: 0x1002",
                "    VRAM:",
                "        TYPE: HBM",
                "        SIZE: 65520 MB",
            ],
        )],
        "Discrete ram 0: Discrete AMD Instinct MI210 65520/65520;",
    );
}
