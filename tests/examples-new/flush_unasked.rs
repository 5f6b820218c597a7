// SPDX-License-Identifier: Apache-2.0
// A BufWriter that is dropped writes what it has, and nobody hears whether that worked.
//
// setup: seq 1 100 > in
// args: in out
// expect: silent
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};

fn convert(from: &str, to: &str) -> io::Result<()> {
    let input = BufReader::new(File::open(from)?);
    let mut output = BufWriter::new(File::create(to)?);
    for line in input.lines() {
        writeln!(output, "{},", line?)?;
    }
    #[cfg(fixed)]
    output.flush()?;
    Ok(())
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let Err(e) = convert(&args[1], &args[2]) {
        eprintln!("{}: {}", args[0], e);
        std::process::exit(1);
    }
}
