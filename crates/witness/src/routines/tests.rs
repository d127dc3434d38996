use super::*;
use crate::interpreter::Interpreter;
use proptest::prelude::*;

fn unit_interval() -> impl Strategy<Value = Rational> {
    (0i64..=1000, 1i64..=1000).prop_map(|(p, q)| Rational::new(p.min(q), q as u64))
}

fn symmetric() -> impl Strategy<Value = Rational> {
    (unit_interval(), any::<bool>()).prop_map(|(x, negative)| if negative { -x } else { x })
}

/// The registers of `MULT` in a program of their own, `u` as product and `v` as factor.
fn multiplication(updates: usize) -> (Program, Multiplier) {
    let mut builder = Builder::new();
    let mut register = |name| builder.register(name);
    let (product, factor) = (register("t"), register("f"));
    let multiplier = Multiplier {
        product,
        v: [register("v+"), register("v-")],
        s: [register("S+"), register("S-")],
        w: register("w"),
        timer: register("tau"),
    };
    builder.multiply("mult", &multiplier, &factor.value(), updates);
    (builder.halt("halt").unwrap(), multiplier)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// (S25) and the invariants of Lemma D.3, (S26) and (S27), at every check.
    #[test]
    fn squares_and_products(u in symmetric(), v in symmetric(), updates in 1usize..12) {
        let (program, registers) = multiplication(updates);
        let mut start = vec![Rational::ZERO; program.registers().len()];
        (start[0], start[1]) = (u.clone(), v.clone());
        let mut run = Interpreter::new(&program, start);
        let half = Rational::new(1, 2u8);
        let halves = [(&u + &v).abs() * &half, (&u - &v).abs() * &half];
        let mut j = 0;
        while !run.halted() {
            let name = program.phases()[run.phase()].name.clone();
            run.step().unwrap();
            if name == "mult: square" {
                j += 1;
                let at = |r: Register| &run.registers()[r.0];
                let w = at(registers.w);
                prop_assert_eq!(w, &Rational::power_of_two(-2 * j));
                for (channel, x) in halves.iter().enumerate() {
                    let (v, s) = (at(registers.v[channel]), at(registers.s[channel]));
                    prop_assert!(!v.is_negative() && v <= w);
                    prop_assert!(!s.is_negative() && *s <= Rational::ONE);
                    let excess = s - x * x;
                    prop_assert_eq!(w * &excess, w * v - v * v);
                    prop_assert!(!excess.is_negative() && excess <= w.scaled(-2));
                }
            }
        }
        prop_assert_eq!(j as usize, updates);
        let product = &run.registers()[0];
        // The difference of two errors in [0, 4^-J / 4]: half of what (S27) allows.
        prop_assert!((product - &u * &v).abs() <= Rational::power_of_two(-2 * j - 2));
        prop_assert!(product.abs() <= Rational::ONE);
    }

    /// Words come out in order and as fractions, whatever follows them, with both readers, and
    /// the routines take `2 + 2l` and `3 + 2J` iterations.
    #[test]
    fn words_are_read(words in prop::collection::vec((1usize..9, any::<u16>()), 1..5), dyadic: bool) {
        let words: Vec<_> = words
            .into_iter()
            .map(|(length, bits)| (length, u64::from(bits) % (1 << length)))
            .collect();
        let mut builder = Builder::new();
        let decoder = Decoder {
            reader: if dyadic { Reader::Dyadic } else { Reader::Paper },
            code: builder.register("c"),
            word: builder.register("a"),
            timer: builder.register("tau"),
        };
        let saved: Vec<_> = (0..words.len())
            .map(|i| {
                let save = builder.register(format!("save {i}"));
                builder.read("word", &decoder, words[i].0);
                builder.phase("save", vec![save.set(decoder.word.value())]);
                save
            })
            .collect();
        let program = builder.halt("halt").unwrap();
        let (mut code, mut place) = (Rational::ZERO, 0);
        for &(length, value) in &words {
            for bit in 0..length {
                place += 1;
                let digit = 2 * (value >> bit & 1) as i64;
                code = code + Rational::from(digit).scaled(-2 * place);
            }
        }
        let mut start = vec![Rational::ZERO; program.registers().len()];
        start[decoder.code.0] = code;
        let mut run = Interpreter::new(&program, start);
        let iterations: usize = words.iter().map(|(length, _)| 3 + 2 * length).sum();
        prop_assert_eq!(run.run(usize::MAX).unwrap(), iterations);
        for (&(length, value), save) in words.iter().zip(saved) {
            let fraction = Rational::from(value as i64).scaled(-(length as i64));
            prop_assert_eq!(&run.registers()[save.0], &fraction);
        }
        prop_assert!(run.registers()[decoder.code.0].is_zero());
    }
}

#[test]
fn multiplications_take_five_phases() {
    let (program, _) = multiplication(4);
    assert_eq!(program.phases().len(), 5 + 1);
    let start = vec![Rational::ZERO; program.registers().len()];
    let mut run = Interpreter::new(&program, start);
    assert_eq!(run.run(usize::MAX).unwrap(), 3 + 2 * 4);
}

#[test]
fn tests_that_are_neither_zero_nor_one_are_found() {
    let mut builder = Builder::new();
    let x = builder.register("x");
    builder.test("fork", vec![], x.value(), 0, 1);
    let program = builder.halt("halt").unwrap();
    let mut run = Interpreter::new(&program, vec![Rational::new(1, 3u8)]);
    assert_eq!(
        run.step(),
        Err(Error::Test {
            phase: "fork".to_owned(),
            signal: "1/3".to_owned()
        })
    );
}
