// SPDX-License-Identifier: Apache-2.0
// A list that cannot be read is an empty list, and is written back with one entry.
//
// setup: printf 'apples\npears\n' > list
// args: plums
// expect: silent
use std::fs;
use std::io::{self, ErrorKind};

#[cfg(not(fixed))]
fn load() -> io::Result<String> {
    Ok(fs::read_to_string("list").unwrap_or_default())
}

#[cfg(fixed)]
fn load() -> io::Result<String> {
    match fs::read_to_string("list") {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(String::new()),
        other => other,
    }
}

fn add(entry: &str) -> io::Result<()> {
    let mut list = load()?;
    list.push_str(entry);
    list.push('\n');
    fs::write("list.new", list)?;
    fs::rename("list.new", "list")
}

fn main() {
    let entry = std::env::args().nth(1).unwrap_or_else(|| "nothing".into());
    if let Err(e) = add(&entry) {
        eprintln!("list: {e}");
        std::process::exit(1);
    }
}
