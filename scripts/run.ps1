# From a clean clone to a running assistant on Windows.
#   scripts\run.ps1            opens the desktop app
#   scripts\run.ps1 -Check     one real question end to end, exits with its result
param([switch]$Check)
$ErrorActionPreference = "Stop"
$PSNativeCommandUseErrorActionPreference = $true
Set-Location (Join-Path $PSScriptRoot "..")

foreach ($tool in "cargo", "node", "npm") {
    if (-not (Get-Command $tool -ErrorAction SilentlyContinue)) {
        throw "$tool is missing; CONTRIBUTING.md says what Windows needs"
    }
}
Push-Location ui
npm ci --no-audit --no-fund
npm run --silent build
Pop-Location
cargo build --locked -p plimsoll-cli -p plimsoll-desktop
$target = if ($env:CARGO_TARGET_DIR) { $env:CARGO_TARGET_DIR } else { "target" }
$plimsoll = Join-Path $target "debug\plimsoll.exe"

$engines = & $plimsoll engine list --json | ConvertFrom-Json
if (-not ($engines.engines | Where-Object inUse)) { & $plimsoll engine install }
$library = & $plimsoll models --json | ConvertFrom-Json
if (-not $library.models) { & $plimsoll pull qwen2.5-coder-0.5b-instruct:Q4_K_M }

if ($Check) {
    & $plimsoll ask --check
    exit $LASTEXITCODE
}
& (Join-Path $target "debug\plimsoll-desktop.exe")
