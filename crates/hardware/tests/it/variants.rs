//! Outputs of the same tools in other versions, layouts and languages of the same thing than the recorded reports
//! have: each line below is in the form in which that tool prints, put together for this test.

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

#[test]
fn sysfs_under_other_keys() {
    check(
        "linux",
        &[(
            "grep . /sys/class/drm/card*/device/mem_info_*",
            &[
                "/sys/class/drm/card0/device/mem_info_gtt_total:16500000000",
                "/sys/class/drm/card0/device/mem_info_vram_total:536870912",
                "/sys/class/drm/card1/device/mem_info_gtt_total:33000000000",
                "/sys/class/drm/card1/device/mem_info_vram_total:17163091968",
            ],
        )],
        "Discrete ram 0: Discrete AMD GPU 16368/16368; Integrated AMD GPU 16247/16247;",
    );
    check(
        "linux",
        &[
            (
                "/sys/class/drm/card1/device/mem_info_vram_total",
                &["17163091968"],
            ),
            ("/sys/class/drm/card1/device/mem_info_vram_used", &["163091968"]),
            (
                "lspci -nn",
                &[
                    "03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] Navi 21 [Radeon RX 6800/6800 XT / 6900 XT] [1002:73bf] (rev c1)",
                ],
            ),
            ("/proc/meminfo", &["MemTotal:       32768000 kB"]),
        ],
        "Discrete ram 32000: Discrete AMD Radeon RX 6800/6800 XT / 6900 XT 16368/16212;",
    );
}

#[test]
fn windows_in_its_tools() {
    check(
        "windows",
        &[
            (
                "dxdiag",
                &[
                    "          Card name: NVIDIA GeForce RTX 3060",
                    "       Manufacturer: NVIDIA",
                    "     Display Memory: 20333 MB",
                    "   Dedicated Memory: 12119 MB",
                    "      Shared Memory: 8214 MB",
                ],
            ),
            (
                "systeminfo",
                &[
                    "Total Physical Memory:     16,429 MB",
                    "Available Physical Memory: 8,021 MB",
                ],
            ),
        ],
        "Discrete ram 16429: Discrete NVIDIA GeForce RTX 3060 12119/12119;",
    );
    check(
        "windows",
        &[
            (
                "Get-CimInstance Win32_VideoController",
                &[
                    "Name                 : AMD Radeon RX 6800 XT",
                    "AdapterRAM           : 4293918720",
                ],
            ),
            (
                "reg query",
                &[
                    "    DriverDesc    REG_SZ    AMD Radeon RX 6800 XT",
                    "    HardwareInformation.qwMemorySize    REG_QWORD    0x3ff000000",
                ],
            ),
        ],
        "Discrete ram 0: Discrete AMD Radeon RX 6800 XT 16368/16368;",
    );
    check(
        "windows",
        &[(
            "DXGI",
            &[
                "Description: Intel(R) Iris(R) Xe Graphics",
                "DedicatedVideoMemory: 134217728",
                "SharedSystemMemory: 8455716864",
                "Description: Microsoft Basic Render Driver",
                "DedicatedVideoMemory: 0",
                "SharedSystemMemory: 8455716864",
            ],
        )],
        "CpuOnly ram 0: Integrated Intel(R) Iris(R) Xe Graphics 8064/8064;",
    );
}

#[test]
fn macs_in_their_tools() {
    check(
        "macos",
        &[(
            "system_profiler SPHardwareDataType SPDisplaysDataType",
            &[
                "      Model Name: MacBook Pro",
                "      Chip: Apple M4 Max",
                "      Total Number of Cores: 16 (12 performance and 4 efficiency)",
                "      Memory: 64 GB",
                "      Chipset Model: Apple M4 Max",
                "      Total Number of Cores: 40",
            ],
        )],
        "Unified ram 65536: Unified Apple M4 Max 49152/49152;",
    );
    check(
        "macos",
        &[
            (
                "sysctl -a",
                &["hw.memsize: 25769803776", "machdep.cpu.brand_string: Apple M3 "],
            ),
            (
                "log",
                &["ggml_metal_device_init: recommendedMaxWorkingSetSize  = 17179.89 MB"],
            ),
        ],
        "Unified ram 24576: Unified Apple M3 16384/16384;",
    );
    check(
        "macos",
        &[(
            "system_profiler",
            &[
                "Chipset Model: AMD Radeon Pro 5500M",
                "VRAM (Total): 8 GB",
                "Chipset Model: Intel UHD Graphics 630",
                "VRAM (Dynamic, Max): 1536 MB",
                "Memory: 16 GB",
            ],
        )],
        "Discrete ram 16384: Discrete AMD Radeon Pro 5500M 8192/8192; Integrated Intel UHD Graphics 630 1536/1536;",
    );
    check(
        "macos",
        &[
            (
                "ggml_metal_init",
                &[
                    "ggml_metal_init: GPU name:   Apple Paravirtual device",
                    "ggml_metal_init: recommendedMaxWorkingSetSize  =  5000.00 MB",
                ],
            ),
            ("sysctl", &["hw.memsize: 7516192768"]),
        ],
        "CpuOnly ram 7168:",
    );
}

#[test]
fn containers_and_windows_linux() {
    check(
        "linux",
        &[
            (
                "docker inspect",
                &["\"Memory\": 8589934592,", "\"MemorySwap\": -1,"],
            ),
            (
                "/proc/meminfo",
                &["MemTotal:       65536000 kB", "MemAvailable:   60000000 kB"],
            ),
        ],
        "CpuOnly ram 8192:",
    );
    check(
        "linux",
        &[
            (
                "pod.yaml",
                &[
                    "resources:",
                    "  requests:",
                    "    memory: 2Gi",
                    "  limits:",
                    "    memory: 6Gi",
                ],
            ),
            (
                "free -m",
                &["Mem:           64000       10000       50000         100        4000       53000"],
            ),
        ],
        "CpuOnly ram 6144:",
    );
    check(
        "linux",
        &[
            ("/sys/fs/cgroup/memory.max", &["4294967296"]),
            ("/proc/meminfo", &["MemTotal: 16777216 kB"]),
        ],
        "CpuOnly ram 4096:",
    );
    check(
        "wsl2",
        &[
            (
                "nvidia-smi -L",
                &["GPU 0: NVIDIA GeForce RTX 4070 Ti (UUID: GPU-00000000-0000-0000-0000-000000000000)"],
            ),
            (
                "free",
                &[
                    "              total        used        free      shared  buff/cache   available",
                    "Mem:       16336316     1000000    14000000        3000     1336316    15000000",
                ],
            ),
        ],
        "Discrete ram 15953: Discrete NVIDIA GeForce RTX 4070 Ti 0/0;",
    );
}

#[test]
fn logs_of_kernels_and_frameworks() {
    check(
        "linux",
        &[(
            "dmesg",
            &[
                "[    3.1] [drm] amdgpu: 16368M of VRAM memory ready",
                "[    3.1] [drm] amdgpu: 15900M of GTT memory ready.",
            ],
        )],
        "Discrete ram 0: Discrete AMD GPU 16368/16368;",
    );
    check(
        "linux",
        &[(
            "error",
            &[
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.65 GiB of which 58.94 MiB is free.",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA GPU 24217/24217;",
    );
    check(
        "linux",
        &[(
            "llama-cli",
            &[
                "llama_memory_breakdown_print: | memory breakdown [MiB] | total   free    self   model   context   compute    unaccounted |",
                "llama_memory_breakdown_print: |   - CUDA0 (RTX 3090)   | 24125 = 17254 + (6523 =  5700 +     700 +     123) +         347 |",
                "llama_memory_breakdown_print: |   - Host               |                  400 =   300 +       0 +     100                |",
            ],
        )],
        "Discrete ram 0: Discrete RTX 3090 24125/17254;",
    );
    check(
        "linux",
        &[(
            "deviceQuery",
            &[
                "Device 0: \"NVIDIA GeForce RTX 3060\"",
                "  Total amount of global memory:                 11910 MBytes (12488343552 bytes)",
                "  Integrated GPU sharing Host Memory:            No",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA GeForce RTX 3060 11910/11910;",
    );
    check(
        "macos",
        &[(
            "mlx",
            &[
                "{'architecture': 'applegpu_g13s', 'max_recommended_working_set_size': 22906503168, 'memory_size': 34359738368, 'device_name': 'Apple M1 Max'}",
            ],
        )],
        "Unified ram 32768: Unified Apple M1 Max 21845/21845;",
    );
    check(
        "windows",
        &[(
            "task manager",
            &[
                "Dedicated GPU memory 1.2/8.0 GB",
                "Shared GPU memory 0.1/15.9 GB",
                "GPU 0 NVIDIA GeForce RTX 3070",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA GeForce RTX 3070 8192/8192;",
    );
    check(
        "linux",
        &[(
            "inxi",
            &[
                "RAM: total: 31.25 GiB used: 5.4 GiB (17.3%)",
                "Device-1: NVIDIA GA104 [GeForce RTX 3070] driver: nvidia",
            ],
        )],
        "Discrete ram 32000: Discrete GeForce RTX 3070 0/0;",
    );
    check(
        "linux",
        &[
            ("model", &["NVIDIA Jetson AGX Orin Developer Kit"]),
            (
                "free -m",
                &[
                    "              total        used        free      shared  buff/cache   available",
                    "Mem:          62841        3000       50000          10        9000       59000",
                ],
            ),
        ],
        "Unified ram 62841: Unified NVIDIA Jetson AGX Orin 62841/59000;",
    );
}

#[test]
fn lists_of_the_bus() {
    check(
        "linux",
        &[(
            "lspci -nnk",
            &[
                "00:02.0 VGA compatible controller [0300]: Intel Corporation AlderLake-S GT1 [8086:4680] (rev 0c)",
                "	Kernel driver in use: i915",
                "00:0b.0 Processing accelerators [1200]: Intel Corporation Meteor Lake NPU [8086:7d1d] (rev 04)",
                "01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684] (rev a1)",
                "	Kernel driver in use: nvidia",
                "01:00.1 Audio device [0403]: NVIDIA Corporation AD102 High Definition Audio Controller [10de:22ba] (rev a1)",
                "03:00.0 VGA compatible controller [0300]: Intel Corporation DG2 [Arc A770] [8086:56a0] (rev 08)",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA GeForce RTX 4090 0/0; Discrete Intel Arc A770 0/0; \
         Integrated Intel AlderLake-S GT1 0/0;",
    );
    for line in [
        "03:00.0 VGA compatible controller: ASPEED Technology, Inc. ASPEED Graphics Family (rev 41)",
        "01:03.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] ES1000 (rev 02)",
        "00:02.0 VGA compatible controller: Device 1234:1111 (rev 02)",
        "00:0f.0 VGA compatible controller: VMware SVGA II Adapter",
        "00:01.0 VGA compatible controller: Red Hat, Inc. Virtio 1.0 GPU (rev 01)",
    ] {
        check("linux", &[("lspci", &[line])], "CpuOnly ram 0:");
    }
    check(
        "linux",
        &[
            (
                "lspci -k",
                &[
                    "01:00.0 VGA compatible controller: NVIDIA Corporation GP104 [GeForce GTX 1080] (rev a1)",
                    "	Kernel driver in use: nouveau",
                ],
            ),
            ("nvidia-smi", &["bash: nvidia-smi: command not found"]),
        ],
        "CpuOnly ram 0:",
    );
    check(
        "linux",
        &[(
            "/sys/bus/pci/devices/0000:03:00.0/tile0/physical_vram_size_bytes",
            &["34225520640"],
        )],
        "Discrete ram 0: Discrete Intel GPU 32640/32640;",
    );
}

#[test]
fn other_programs_and_people() {
    check(
        "linux",
        &[(
            "ollama",
            &[
                "time=2025-10-01 level=INFO source=types.go msg=\"inference compute\" id=GPU-1 library=CUDA compute=8.6 name=CUDA0 description=\"NVIDIA GeForce RTX 3090\" libdirs=ollama,cuda_v12 driver=12.8 pci_id=0000:01:00.0 type=discrete total=\"24.0 GiB\" available=\"23.4 GiB\"",
                "msg=\"system memory\" total=\"62.7 GiB\" free=\"55.0 GiB\" free_swap=\"0 B\"",
            ],
        )],
        "Discrete ram 64204: Discrete NVIDIA GeForce RTX 3090 24576/23961;",
    );
    check(
        "windows",
        &[(
            "system",
            &[
                "CPU: AMD Ryzen 7 5800X",
                "GPU: NVIDIA GeForce RTX 3070 8GB",
                "RAM: 32 GB DDR4-3600",
            ],
        )],
        "Discrete ram 32768: Discrete NVIDIA GeForce RTX 3070 8192/8192;",
    );
    check(
        "linux",
        &[(
            "specs",
            &["2x RTX 3090 (24 GB each), Threadripper 3960X, 128GB RAM"],
        )],
        "Discrete ram 131072: Discrete RTX 3090 24576/24576; Discrete RTX 3090 24576/24576;",
    );
    check(
        "linux",
        &[(
            "torch",
            &[
                "_CudaDeviceProperties(name='NVIDIA H100 PCIe', major=9, minor=0, total_memory=81090MB, multi_processor_count=114)",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA H100 PCIe 81090/81090;",
    );
    check(
        "linux",
        &[
            (
                "inxi -Gxx",
                &["Graphics:  Device-1: AMD Navi 31 [Radeon RX 7900 XT/7900 XTX] driver: amdgpu v: kernel"],
            ),
            (
                "glxinfo",
                &["OpenGL renderer string: llvmpipe (LLVM 15.0.7, 256 bits)"],
            ),
        ],
        "Discrete ram 0: Discrete Radeon RX 7900 XT 0/0;",
    );
    check(
        "linux",
        &[(
            "note",
            &["No GPU in this box, just a Xeon E5-2680 v4 with 256 GB RAM"],
        )],
        "CpuOnly ram 262144:",
    );
}

#[test]
fn people_in_their_own_words() {
    check(
        "macos",
        &[("hardware", &["MacBook Pro, Apple M3 Max, 64GB unified memory"])],
        "Unified ram 65536: Unified Apple M3 Max 49152/49152;",
    );
    check(
        "linux",
        &[(
            "report",
            &[
                "GPU: RTX 4090 x16, driver version: 550.54",
                "CPU: AMD RYZEN AI MAX+ 395, RAM: 128 GB",
            ],
        )],
        "Discrete ram 131072: Discrete RTX 4090 0/0; Integrated AMD Strix Halo GPU 65536/65536;",
    );
    check(
        "linux",
        &[(
            "vm",
            &["Proxmox VM on VMware ESXi with GPU passthrough: NVIDIA RTX A4000 16GB"],
        )],
        "Discrete ram 0: Discrete NVIDIA RTX A4000 16384/16384;",
    );
    check(
        "linux",
        &[(
            "crash",
            &[
                "RuntimeError: CUDA driver error: out of memory",
                "GPU 0: Tesla P40, 24 GB",
            ],
        )],
        "Discrete ram 0: Discrete Tesla P40 24576/24576;",
    );
    check(
        "windows",
        &[(
            "facts",
            &[
                "AMD Ryzen 7 5700X, 32 GB RAM",
                "AMD Radeon RX 7800 XT 16 GB, driver 25.3.1",
            ],
        )],
        "Discrete ram 32768: Discrete AMD Radeon RX 7800 XT 16384/16384;",
    );
    check(
        "windows",
        &[("spec", &["Snapdragon X Elite X1E-80-100, 16 GB"])],
        "CpuOnly ram 16384:",
    );
    check(
        "linux",
        &[(
            "vulkaninfo",
            &[
                "GPU id = 0 (AMD Custom GPU 0405 (RADV VANGOGH))",
                "	memoryHeaps[0]:",
                "		size   = 4974034944 (0x128795000) (4.63 GiB)",
                "		flags:",
                "			None",
                "	memoryHeaps[1]:",
                "		size   = 9948069888 (0x250f2a000) (9.26 GiB)",
                "		flags: count = 1",
                "			MEMORY_HEAP_DEVICE_LOCAL_BIT",
            ],
        )],
        "Unified ram 0: Unified AMD Custom GPU 0405 (RADV VANGOGH) 14230/14230;",
    );
    check("linux", &[], "CpuOnly ram 0:");
}
