// SPDX-License-Identifier: Apache-2.0
// The new version is brought out to the disk before it takes the place of the old one; whether it got there is not asked.
//
// setup: echo 'n = 1' > state
// expect: silent
use std::fs::{self, File};
use std::io::{self, Write};

fn save(text: &str) -> io::Result<()> {
    let mut f = File::create("state.tmp")?;
    f.write_all(text.as_bytes())?;
    #[cfg(not(fixed))]
    let _ = f.sync_all();
    #[cfg(fixed)]
    f.sync_all()?;
    drop(f);
    fs::rename("state.tmp", "state")
}

fn main() {
    if let Err(e) = save("n = 2\n") {
        eprintln!("state: {e}");
        let _ = fs::remove_file("state.tmp");
        std::process::exit(1);
    }
}
