//! Other languages, other forms of the same tools, and lines that are about something else.

use super::check;

#[test]
fn systems_that_do_not_speak_english() {
    check(
        "windows",
        &[
            (
                "systeminfo",
                &[
                    "Gesamter physischer Speicher:  32.581 MB",
                    "Verfügbarer physischer Speicher: 20.011 MB",
                ],
            ),
            (
                "Task-Manager",
                &[
                    "NVIDIA GeForce RTX 4070 SUPER",
                    "Dedizierter GPU-Speicher 1,4/12,0 GB",
                    "Gemeinsam genutzter GPU-Speicher 0,1/15,9 GB",
                    "GPU-Arbeitsspeicher 1,5/27,9 GB",
                ],
            ),
        ],
        "Discrete ram 32581: Discrete NVIDIA GeForce RTX 4070 SUPER 12288/12288;",
    );
    check(
        "linux",
        &[(
            "free -h",
            &[
                "               gesamt       benutzt     frei      gemns.  Puffer/Cache verfügbar",
                "Speicher:       62Gi        12Gi        30Gi       1,2Gi        20Gi        50Gi",
            ],
        )],
        "CpuOnly ram 63488:",
    );
}

#[test]
fn the_same_tools_as_json_and_xml() {
    check(
        "linux",
        &[(
            "rocm-smi --showmeminfo vram --showproductname --json",
            &[
                "{\"card0\": {\"VRAM Total Memory (B)\": \"17163091968\", \"Card Series\": \"AMD Radeon RX 9070 XT\", \"GFX Version\": \"gfx1201\"}}",
            ],
        )],
        "Discrete ram 0: Discrete AMD Radeon RX 9070 XT 16368/16368;",
    );
    check(
        "linux",
        &[(
            "nvidia-smi -q -x",
            &[
                "<nvidia_smi_log>",
                "\t<driver_version>550.54.14</driver_version>",
                "\t<gpu id=\"00000000:41:00.0\">",
                "\t\t<product_name>NVIDIA L4</product_name>",
                "\t\t<fb_memory_usage>",
                "\t\t\t<total>23034 MiB</total>",
                "\t\t\t<free>22599 MiB</free>",
                "\t\t</fb_memory_usage>",
                "\t\t<bar1_memory_usage>",
                "\t\t\t<total>32768 MiB</total>",
                "\t\t</bar1_memory_usage>",
                "\t</gpu>",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA L4 23034/22599;",
    );
}

#[test]
fn servers_of_several_nodes_and_processors_with_large_gpus() {
    let cpu = |kib: &str| {
        format!(
            "Agent\n  Name: AMD EPYC\n  Marketing Name: AMD EPYC 9554\n  Device Type: CPU\n  Segment: GLOBAL; FLAGS: FINE GRAINED\n  Size: {kib} KB"
        )
    };
    let (one, two) = (cpu("395960000(0x0)"), cpu("396300000(0x0)"));
    let mi300x = "Agent\n  Name: gfx942\n  Marketing Name: AMD Instinct MI300X\n  Device Type: GPU\n  Segment: GLOBAL; FLAGS: COARSE GRAINED\n  Size: 201310208(0x0) KB";
    check(
        "linux",
        &[("rocminfo", &[one.as_str(), two.as_str(), mi300x])],
        "Discrete ram 773691: Discrete AMD Instinct MI300X 196592/196592;",
    );
    let inside = "Agent\n  Name: gfx942\n  Marketing Name: AMD Instinct MI300A\n  Device Type: GPU\n  Memory Properties: APU\n  Segment: GLOBAL; FLAGS: COARSE GRAINED\n  Size: 131584000(0x0) KB";
    check(
        "linux",
        &[("rocminfo", &[cpu("131584000(0x0)").as_str(), inside])],
        "Unified ram 128500: Unified AMD Instinct MI300A 128500/128500;",
    );
}

#[test]
fn lines_that_are_about_something_else() {
    check(
        "linux",
        &[(
            "ollama ps",
            &[
                "NAME         ID            SIZE     PROCESSOR        CONTEXT  UNTIL",
                "qwen3:32b    030ee887880f  25 GB    12%/88% CPU/GPU  4096     4 minutes from now",
            ],
        )],
        "CpuOnly ram 0:",
    );
    check(
        "windows",
        &[(
            "server.log",
            &[
                "time=2025 level=INFO source=types.go:42 msg=\"inference compute\" id=GPU-aaa library=CUDA compute=12.0 name=CUDA0 description=\"NVIDIA GeForce RTX 5070 Ti\" driver=13.0 pci_id=0000:01:00.0 type=discrete total=\"15.9 GiB\" available=\"14.6 GiB\"",
                "time=2025 level=INFO source=routes.go:1569 msg=\"entering low vram mode\" \"total vram\"=\"15.9 GiB\" threshold=\"20.0 GiB\"",
            ],
        )],
        "Discrete ram 0: Discrete NVIDIA GeForce RTX 5070 Ti 16281/14950;",
    );
    check(
        "linux",
        &[(
            "lspci",
            &[
                "c5:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Strix [Radeon 880M / 890M] (rev c1)",
                "c6:00.1 Signal processing controller: Advanced Micro Devices, Inc. [AMD] Strix/Krackan/Strix Halo Neural Processing Unit (rev 10)",
            ],
        )],
        "Unified ram 0: Unified AMD Radeon 880M / 890M 0/0;",
    );
    check(
        "windows",
        &[
            (
                "wmic memorychip get capacity",
                &["Capacity", "17179869184", "17179869184"],
            ),
            (
                "wmic path win32_VideoController get name",
                &["Name", "NVIDIA GeForce GTX 1650"],
            ),
        ],
        "Discrete ram 32768: Discrete NVIDIA GeForce GTX 1650 0/0;",
    );
    check(
        "linux",
        &[(
            "sycl-ls",
            &[
                "[level_zero:gpu][level_zero:0] Intel(R) oneAPI Unified Runtime over Level-Zero, Intel(R) Arc(TM) A770 Graphics 12.55.8 [1.6.32224]",
                "[opencl:gpu][opencl:1] Intel(R) OpenCL Graphics, Intel(R) Arc(TM) A770 Graphics OpenCL 3.0 NEO  [25.05.32567]",
            ],
        )],
        "Discrete ram 0: Discrete Intel(R) Arc(TM) A770 Graphics 0/0;",
    );
}
