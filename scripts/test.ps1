# The steps of scripts/test that Windows can run: no real engine from wheels, no Xvfb, no WebKitWebDriver.
$ErrorActionPreference = "Stop"
$PSNativeCommandUseErrorActionPreference = $true
Set-Location (Join-Path $PSScriptRoot "..")

Push-Location ui
npm ci --no-audit --no-fund
npm run --silent check
npm test --silent
npm run --silent build
Pop-Location

cargo clippy --locked --workspace --all-targets -- -D warnings
cargo build --locked --workspace --all-targets
cargo run --quiet --locked -p plimsoll-x -- gen --check
cargo run --quiet --locked -p plimsoll-x -- tidy
# What needs a real llama-server lives in integration tests, and runs on Linux.
cargo test --locked --workspace --lib --bins
