// SPDX-License-Identifier: Apache-2.0
// Rust: errors of the system arrive as errors of the library.
//
// @needs HOME=$(getent passwd $(id -u) | cut -d: -f6) rustc --version
// @build HOME=$(getent passwd $(id -u) | cut -d: -f6) rustc -C debuginfo=1 -O -o $out $src
// @build HOME=$(getent passwd $(id -u) | cut -d: -f6) rustc -C prefer-dynamic=no -C panic=abort -o $out $src
// @run - 0 -f 'read:EIO' -- read
// @run 1 0 -f 'open:EACCES when stack("main") and once' -- open
// @run - 0 -f 'write:ENOSPC' -- write
use std::env;
use std::fs::File;
use std::io::{Read, Write};
use std::process::exit;

fn main() {
    let what = env::args().nth(1).unwrap_or_default();
    let error = match what.as_str() {
        "open" => File::open("/etc/passwd").err(),
        "read" => {
            let mut bytes = [0u8; 16];
            File::open("/etc/passwd").and_then(|mut f| f.read(&mut bytes)).err()
        }
        _ => File::create("/dev/null").and_then(|mut f| f.write(b"data")).err(),
    };
    let wanted = match what.as_str() {
        "open" => 13,
        "read" => 5,
        _ => 28,
    };
    exit(if error.and_then(|e| e.raw_os_error()) == Some(wanted) { 0 } else { 1 });
}
