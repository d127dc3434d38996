//! Small changes to valid inputs.

use loopfit_numerics::stream::Stream;
use std::ops::Range;

/// No input grows beyond this many bytes, unless its seed is that long already.
const LONGEST: usize = 1 << 16;

/// Characters that mean something to some reader.
const BYTES: &[u8] = b"\0\x01\n\r\t \"',;|.#=+-*/^()[]{}<>:_0129eENaIx\x7F\x80\xC3\xFF";

/// Numbers that are hard to read or to use.
const NUMBERS: &[&str] = &[
    "0",
    "-0",
    "-1",
    "1e999",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "0x10",
    "255",
    "65536",
    "2147483648",
    "4294967295",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "0.1",
    "1_000",
    "007",
];

/// Case `number` of a target: one of the seeds, changed one to eight times.
pub(crate) fn case(target: &str, seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut draws = Draws {
        stream: Stream::new(16).child(target).nth(number),
        next: 0,
    };
    let mut input = seeds[draws.below(seeds.len())].clone();
    let longest = LONGEST.max(input.len());
    for _ in 0..1 + draws.below(8) {
        change(&mut input, seeds, &mut draws);
    }
    input.truncate(longest);
    input
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], draws: &mut Draws) {
    let at = draws.below(input.len() + 1);
    match draws.below(11) {
        0 if at < input.len() => input[at] ^= 1 << draws.below(8),
        1 if at < input.len() => input[at] = draws.below(256) as u8,
        2 if at < input.len() => input[at] = BYTES[draws.below(BYTES.len())],
        3 => drop(input.drain(draws.range(input.len()))),
        4 => {
            let copied = input[draws.range(input.len())].to_vec();
            let times = 1 + draws.below(3);
            input.splice(at..at, copied.repeat(times));
        }
        5 => {
            let bytes: Vec<u8> = (0..1 + draws.below(8))
                .map(|_| BYTES[draws.below(BYTES.len())])
                .collect();
            input.splice(at..at, bytes);
        }
        6 => {
            let other = &seeds[draws.below(seeds.len())];
            let from = draws.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        7 | 8 => replace_number(input, at, NUMBERS[draws.below(NUMBERS.len())]),
        9 => input.truncate(at),
        _ => {
            let number = [0, 1, 255, 1 << 16, 1 << 31, 1 << 62, u64::MAX][draws.below(7)];
            for (to, byte) in input[at..].iter_mut().zip(number.to_le_bytes()) {
                *to = byte;
            }
        }
    }
}

/// Puts a number in the place of the first one after a position.
fn replace_number(input: &mut Vec<u8>, at: usize, number: &str) {
    let digit = |b: &u8| b.is_ascii_digit();
    let Some(start) = input[at..].iter().position(digit) else {
        return;
    };
    let start = at + start;
    let length = input[start..].iter().take_while(|b| digit(b)).count();
    input.splice(start..start + length, number.bytes());
}

/// Numbers from a stream, one after another.
struct Draws {
    stream: Stream,
    next: u64,
}

impl Draws {
    /// A number below `n`; 0 if that is 0.
    fn below(&mut self, n: usize) -> usize {
        self.next += 1;
        self.stream.below(self.next, n.max(1) as u64) as usize
    }

    /// A short range below `n`, now and then a long one.
    fn range(&mut self, n: usize) -> Range<usize> {
        let start = self.below(n + 1);
        let most = if self.below(4) == 0 { n } else { 16 };
        let length = self.below(most + 1);
        start..n.min(start + length)
    }
}
