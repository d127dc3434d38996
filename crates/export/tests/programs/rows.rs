use models::*;
use std::io::BufRead;

fn number(cell: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(cell, 16).unwrap())
}

fn text(cell: &str) -> Option<String> {
    let digits = cell.strip_prefix('t')?;
    let bytes = (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap());
    Some(String::from_utf8(bytes.collect()).unwrap())
}

fn show(values: &[f64]) {
    let words: Vec<String> = values
        .iter()
        .map(|v| format!("{:016x}", v.to_bits()))
        .collect();
    println!("{}", words.join(" "));
}

fn class<const K: usize>(answer: Option<(usize, [f64; K])>) {
    match answer {
        Some((best, p)) => {
            print!("{best} ");
            show(&p);
        }
        None => {
            print!("-1 ");
            show(&[f64::NAN; K]);
        }
    }
}

fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        RUNS[words[0].parse::<usize>().unwrap()](&words[2..], words[1].parse().unwrap());
    }
}
