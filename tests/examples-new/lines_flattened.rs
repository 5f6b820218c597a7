// SPDX-License-Identifier: Apache-2.0
// Lines that cannot be read are left out; if none can be read any more, that has no end.
//
// setup: seq 1 100 > in
// args: in
// expect: hang
use std::fs::File;
use std::io::{self, BufRead, BufReader};

fn sum(path: &str) -> io::Result<u64> {
    let input = BufReader::new(File::open(path)?);
    let mut total = 0;
    #[cfg(not(fixed))]
    for line in input.lines().filter_map(Result::ok) {
        total += line.parse::<u64>().unwrap_or(0);
    }
    #[cfg(fixed)]
    for line in input.lines() {
        total += line?.parse::<u64>().unwrap_or(0);
    }
    Ok(total)
}

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    match sum(&path) {
        Ok(n) => println!("{n}"),
        Err(e) => {
            eprintln!("{path}: {e}");
            std::process::exit(1);
        }
    }
}
