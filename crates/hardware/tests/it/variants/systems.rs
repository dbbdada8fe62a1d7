//! What systems, buses, logs and people say.

use super::check;

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
