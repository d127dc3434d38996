//! Wrong inputs: one clear sentence, the right exit code, nothing left behind.

mod common;
use common::{Place, classes_csv, regression_csv};

/// What is wrong, the command line, the exit code, and words that the sentence must have.
type Case = (&'static str, &'static str, i32, &'static [&'static str]);

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Command lines.
    ("no command that exists", "frobnicate", 2, &["unrecognized subcommand"]),
    ("no budget", "fit good.csv --target y", 2, &["--budget"]),
    ("budget of zero", "fit good.csv --target y --budget 0", 2, &["at least 1"]),
    ("budget that is not a number", "budget --dim 2 --budget many", 2, &["whole number"]),
    ("unknown simulation", "compare sim:dumps --budget 64", 2, &["dumps", "bumps"]),
    ("shape without T", "compare sim:bumps --budget 128 --shape loop=4,11", 2, &["loop=4,11,16"]),
    ("unknown shell", "completions tcl", 2, &["tcl"]),
    ("no seeds", "compare sim:bumps --budget 64 --seeds 0", 2, &["at least 1"]),
    ("sizes for a table", "fit good.csv --target y --budget 64 --train 100", 2, &["--train", "simulations"]),
    ("a task for a simulation", "fit sim:bumps --budget 64 --task density", 2, &["--task", "sim:bumps"]),
    ("a target for a density", "fit sim:four-modes --budget 64 --target y", 2, &["density", "--target"]),
    ("a shape of no wanted method", "fit good.csv --target y --budget 64 --method loop --shape single=2,2", 2, &["--shape single", "--method"]),
    ("more rows than there can be", "fit sim:bumps --budget 64 --train 9223372036854775808", 2, &["at most"]),
    ("a shape of nothing", "compare sim:bumps --budget 64 --shape loop=0,1,1", 2, &["at least 1"]),
    ("a density with a target", "fit good.csv --target y --task density --budget 64", 2, &["density"]),
    ("seeds past the end", "compare sim:bumps --budget 64 --first-seed 18446744073709551615", 2, &["--first-seed"]),
    ("a delimiter for a simulation", "fit sim:bumps --budget 64 --delimiter tab", 2, &["--delimiter"]),
    ("a seed for a file", "predict m.safetensors good.csv --seed 3", 2, &["--seed"]),
    ("a file and JSON", "predict m.safetensors good.csv -o out --json", 2, &["-o", "--json"]),
    ("too many threads", "budget --dim 2 --budget 64 --threads 100000", 2, &["1024"]),
    ("test rows of a simulation", "fit sim:bumps --budget 64 --test-fraction 0.3", 2, &["--test-fraction", "tables"]),
    ("a comparison without test rows", "compare good.csv --target y --budget 64 --test-fraction 0", 2, &["test rows", "--test-fraction"]),
    ("a last fit and none", "fit good.csv --target y --budget 64 --refit --no-refit", 2, &["--refit", "--no-refit"]),
    ("a protocol without an end", "fit good.csv --target y --budget 64 --protocol /dev/zero", 3, &["/dev/zero", "not a regular file"]),
    ("bytes that are no number", "fit good.csv --target y --budget 64 --max-bytes few", 2, &["not a number of bytes", "1e6"]),
    // Architectures.
    ("unknown architecture", "fit good.csv --target y --budget 64 --arch cnn", 2, &["ffn", "transformer", "any"]),
    ("two architectures in one table", "budget --dim 2 --budget 64 --arch any", 2, &["ffn", "transformer"]),
    ("tokens of an FFN", "fit good.csv --target y --budget 64 --tokens each", 2, &["--tokens", "--arch transformer"]),
    ("tokens of an FFN to compare", "compare sim:bumps --budget 64 --arch ffn --tokens 2", 2, &["--tokens", "--arch transformer"]),
    ("tokens of an FFN to count", "budget --dim 2 --budget 64 --tokens all", 2, &["--tokens", "--arch transformer"]),
    ("tokens of no form", "fit good.csv --target y --budget 64 --arch transformer --tokens 0;1", 2, &["0;1", "0,1/2,3"]),
    ("tokens with a hole", "compare sim:bumps --budget 64 --arch any --tokens 0//1", 2, &["0//1", "each, all"]),
    ("no tokens", "fit good.csv --target y --budget 64 --arch transformer --tokens 0", 2, &["a number of groups"]),
    ("more tokens than inputs", "fit good.csv --target y --budget 99 --arch transformer --tokens 9 -o out", 3, &["9 data tokens", "at most 5"]),
    ("an input in no token", "fit good.csv --target y --budget 99 --arch any --tokens 0,1/2,3 -o out", 3, &["leaves out input 4"]),
    ("an input that is not there", "compare sim:bumps --budget 99 --arch transformer --tokens 0,1/2", 3, &["input 2", "use 0 to 1"]),
    ("an input without a token", "fit good.csv --target y --budget 150 --arch transformer --tokens 0/1", 3, &["leaves out input 2", "2 kind=blue"]),
    ("an input in two tokens", "budget --dim 2 --budget 99 --arch transformer --tokens 0,1/1", 3, &["input 1 twice"]),
    ("a shape of two architectures", "compare sim:bumps --budget 128 --arch any --shape loop=3,2,16", 2, &["fix a shape with --arch ffn or --arch transformer"]),
    ("a cap too small for a Transformer", "fit good.csv --target y --budget 30 --arch transformer -o out", 3, &["budget 30", "post-LN Transformer", "82"]),
    ("a cap too small for any", "fit good.csv --target y --budget 7 --arch any -o out", 3, &["budget 7", "residual FFN", "12"]),
    // The catalogue.
    ("unknown data set", "fit data:boston --budget 64", 2, &["boston", "airfoil"]),
    ("a data set without a folder", "fit data:airfoil --budget 64 -o out", 2, &["data:airfoil", "--data-dir", "LOOPFIT_DATA"]),
    ("a data set that is not there", "fit data:airfoil --data-dir . --budget 64 -o out", 3, &["airfoil_self_noise.dat", "loopfit data fetch airfoil"]),
    ("a data set to score that is not there", "score m.safetensors data:rt-iot --data-dir .", 3, &["RT_IOT2022.csv"]),
    ("another target", "fit data:airfoil --data-dir . --target y --budget 64", 2, &["data:airfoil", "--target"]),
    ("another task", "compare data:wall-robot --data-dir . --task regression --budget 64", 2, &["--task"]),
    ("other blocks", "compare data:wall-robot --data-dir . --block 61 --budget 64", 2, &["--block"]),
    ("sizes for a data set", "fit data:airfoil --data-dir . --train 100 --budget 64", 2, &["--train"]),
    ("a delimiter for a data set", "fit data:airfoil --data-dir . --delimiter tab --budget 64", 2, &["--delimiter"]),
    ("a seed for a data set", "predict m.safetensors data:airfoil --data-dir . --seed 3", 2, &["--seed"]),
    ("a data folder for a file", "fit good.csv --target y --data-dir . --budget 64", 2, &["--data-dir"]),
    ("a check of an unknown set", "data check boston --data-dir .", 2, &["boston", "airfoil"]),
    ("a check without a folder", "data check", 2, &["data check", "--data-dir"]),
    ("a fetch without a folder", "data fetch airfoil", 2, &["data fetch", "--data-dir"]),
    ("a fetch from where nothing listens", "data fetch airfoil --data-dir . --from http://127.0.0.1:9", 3, &["http://127.0.0.1:9/airfoil", "network"]),
    // What was asked does not fit.
    ("output over the data", "fit good.csv --target y --budget 64 -o good.csv", 3, &["good.csv is read"]),
    ("output over the model", "predict m.safetensors good.csv -o m.safetensors", 3, &["m.safetensors is read"]),
    ("a text among numbers", "fit oops.csv --target y --budget 64 -o out", 3, &["`b`", "oops", "line 32"]),
    ("a text among target numbers", "fit oops.csv --target b --budget 64 -o out", 3, &["`b`", "oops", "line 32"]),
    ("a target beyond all scales", "fit huge.csv --target y --budget 64 -o out", 3, &["`y`", "unit"]),
    ("budget too small for the data", "fit good.csv --target y --budget 1 -o out", 3, &["budget 1 ", "the smallest needs 2"]),
    ("budget too small", "budget --dim 5 --budget 11", 3, &["11", "12"]),
    ("shape over the cap", "compare sim:bumps --budget 64 --shape loop=4,11,16", 3, &["120", "64"]),
    ("an effort of no name", "fit good.csv --target y --budget 64 --effort much", 2, &["quick, standard, strong"]),
    ("an effort of nothing", "fit good.csv --target y --budget 64 --effort 0-updates", 2, &["at least 32"]),
    ("a time of no unit", "fit good.csv --target y --budget 64 --time 3weeks", 2, &["3weeks", "60s"]),
    ("a time of nothing", "fit good.csv --target y --budget 64 --time 0s", 2, &["0.1s"]),
    ("time and effort", "fit good.csv --target y --budget 64 --time 3s --effort quick", 2, &["--time", "--effort"]),
    ("updates and effort", "compare sim:bumps --budget 64 --updates 3200 --effort quick", 2, &["--updates", "--effort"]),
    ("equal in nothing known", "compare sim:bumps --budget 64 --equal money", 2, &["updates", "time", "flops"]),
    ("no protocol file", "fit good.csv --target y --budget 64 --protocol none.toml", 3, &["none.toml"]),
    ("a protocol that is none", "fit good.csv --target y --budget 64 --protocol good.csv", 3, &["good.csv", "search protocol"]),
    ("too few updates", "fit good.csv --target y --budget 64 --updates 3 -o out", 2, &["at least 32"]),
    ("a noise model for classes", "fit classes.csv --target label --budget 64 --likelihood laplace -o out", 3, &["laplace", "classification"]),
    ("output in no directory", "fit good.csv --target y --budget 64 -o none/out", 3, &["none", "create it"]),
    ("output is a directory", "fit good.csv --target y --budget 64 -o .", 3, &["directory"]),
    // Tables.
    ("no such file", "fit missing.csv --target y --budget 64 -o out", 3, &["missing.csv"]),
    ("empty file", "fit empty.csv --target y --budget 64 -o out", 3, &["empty.csv", "empty"]),
    ("header only", "fit header.csv --target y --budget 64 -o out", 3, &["header.csv"]),
    ("ragged row", "fit ragged.csv --target y --budget 64 -o out", 3, &["line 4"]),
    ("duplicate header", "fit twice.csv --target y --budget 64 -o out", 3, &["`a`"]),
    ("not UTF-8", "fit latin.csv --target y --budget 64 -o out", 3, &["UTF-8"]),
    ("unclosed quote", "fit quote.csv --target y --budget 64 -o out", 3, &["quote"]),
    ("truncated gzip", "fit cut.csv.gz --target y --budget 64 -o out", 3, &["cut.csv.gz"]),
    ("infinite value", "fit infinite.csv --target y --budget 64 -o out", 3, &["line"]),
    ("a directory", "fit . --target y --budget 64 -o out", 3, &["directory"]),
    // Targets and inputs.
    ("no such column", "fit good.csv --target z --budget 64 -o out", 3, &["`z`", "kind"]),
    ("no target and no density", "fit good.csv --budget 64 -o out", 2, &["--target"]),
    ("no target at all", "fit hole.csv --target y --budget 64 -o out", 3, &["`y` has no values"]),
    ("NaN target", "fit nan.csv --target y --budget 64 -o out", 3, &["`y` has no values"]),
    ("zero variance", "fit flat.csv --target y --budget 64 -o out", 3, &["`y`"]),
    ("one class only", "fit oneclass.csv --target y --budget 64 -o out", 3, &["every row"]),
    ("a class with one row", "fit rare.csv --target label --budget 64 -o out", 3, &["rare"]),
    ("text target, regression asked", "fit classes.csv --target label --task regression --budget 64 -o out", 3, &["label"]),
    ("no usable input", "fit constant.csv --target y --budget 64 -o out", 3, &["input"]),
    ("too few rows", "fit tiny.csv --target y --budget 64 -o out", 3, &["row"]),
    ("unknown column to ignore", "fit good.csv --target y --ignore q --budget 64 -o out", 3, &["`q`"]),
    ("a density of texts", "fit classes.csv --task density --budget 64 -o out", 3, &["label"]),
    // Models.
    ("no such model", "show missing.safetensors", 3, &["missing.safetensors"]),
    ("truncated model", "show cut.safetensors", 3, &["cut.safetensors"]),
    ("wrong magic", "show good.csv", 3, &["good.csv", "safetensors"]),
    ("empty model", "predict empty.csv good.csv", 3, &["empty.csv"]),
    ("altered model", "show altered.safetensors", 3, &["altered.safetensors"]),
    ("missing column", "predict m.safetensors nob.csv -o out", 3, &["`b`"]),
    ("text in a numeric column", "predict m.safetensors text.csv -o out", 3, &["`b`", "oops"]),
    ("numbers in a text column", "predict m.safetensors numbers.csv -o out", 3, &["`kind`"]),
    ("score without the target", "score m.safetensors notarget.csv", 3, &["`y`"]),
    ("score with an unknown class", "score c.safetensors newclass.csv", 3, &["strange"]),
    ("samples of a regression", "sample m.safetensors -n 5", 3, &["density"]),
];

fn prepare() -> Place {
    let place = Place::new();
    let good = regression_csv(60);
    let classes = classes_csv(60);
    let lines: Vec<&str> = good.lines().collect();
    let with_target = |value: &dyn Fn(usize) -> String| {
        let rows = lines[1..]
            .iter()
            .enumerate()
            .map(|(i, l)| format!("{},{}\n", l.rsplit_once(',').unwrap().0, value(i)));
        format!("{}\n{}", lines[0], rows.collect::<String>())
    };
    place
        .write("good.csv", &good)
        .write("classes.csv", &classes)
        .write("empty.csv", "")
        .write("header.csv", "a,b,y\n")
        .write("ragged.csv", "a,b,y\n1,2,3\n4,5,6\n7,8\n")
        .write("twice.csv", "a,a,y\n1,2,3\n4,5,6\n")
        .write("latin.csv", b"a,b,y\n1,caf\xe9,3\n")
        .write("quote.csv", "a,b,y\n1,\"open,3\n4,5,6\n")
        .write("infinite.csv", "a,b,y\n1,2,3\n4,inf,6\n7,8,9\n")
        .write("hole.csv", with_target(&|_| String::new()))
        .write("nan.csv", with_target(&|_| "nan".to_string()))
        .write("flat.csv", with_target(&|_| "2.5".to_string()))
        .write("oneclass.csv", with_target(&|_| "yes".to_string()))
        .write("rare.csv", format!("{classes}0.5;0.25;rare\n"))
        .write(
            "constant.csv",
            format!(
                "a,y\n{}",
                (0..40).map(|i| format!("1,{i}\n")).collect::<String>()
            ),
        )
        .write("tiny.csv", "a,y\n1,2\n2,3\n")
        .write("nob.csv", "a,kind\n0.1,red\n")
        .write("text.csv", "a,b,kind\n0.1,0.2,red\n0.1,oops,red\n")
        .write("numbers.csv", "a,b,kind\n0.1,0.2,7\n0.1,0.3,8\n")
        .write("notarget.csv", "a,b,kind\n0.1,0.2,red\n")
        .write("newclass.csv", "a;b;label\n0.1;0.2;strange\n")
        .write("huge.csv", with_target(&|i| format!("{}e300", i + 1)))
        .write("oops.csv", {
            let cells = lines.iter().enumerate().map(|(i, l)| {
                let mut c: Vec<&str> = l.split(',').collect();
                if i == 31 {
                    c[1] = "oops";
                }
                c.join(",") + "\n"
            });
            cells.collect::<String>()
        });
    let gzip = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b, 0xd4, 0x49];
    place.write("cut.csv.gz", gzip);
    place.ok("fit good.csv --target y --budget 40 --updates 160 -o m.safetensors");
    place.ok("fit classes.csv --target label --budget 40 --updates 160 -o c.safetensors");
    let model = place.read("m.safetensors");
    place.write("cut.safetensors", &model[..model.len() / 2]);
    let altered = String::from_utf8_lossy(&model[8..]).contains("\"sd\\\":");
    assert!(altered, "the metadata holds the preprocessing");
    let mut text = model.clone();
    let at = text.windows(6).position(|w| w == b"\\\"sd\\\"").unwrap();
    text[at + 2] = b'z';
    place.write("altered.safetensors", text);
    place
}

#[test]
fn every_wrong_input_gets_one_sentence_and_its_exit_code() {
    let place = prepare();
    let before = place.files();
    let mut wrong = Vec::new();
    for (what, arguments, code, words) in CASES {
        let output = place.run(arguments);
        let said = String::from_utf8(output.stderr).unwrap();
        let sentence = said.lines().filter(|l| l.starts_with("error: ")).count() == 1;
        let words_there = words.iter().all(|w| said.contains(w));
        if output.status.code() != Some(*code)
            || !sentence
            || !words_there
            || said.contains("panicked")
        {
            wrong.push(format!(
                "{what}: `{arguments}` gave {:?} and\n{said}",
                output.status.code()
            ));
        }
        // Usage errors add a hint; bad input is one line.
        if *code == 3
            && said
                .lines()
                .rfind(|l| !l.is_empty())
                .is_some_and(|l| !l.starts_with("error: "))
        {
            wrong.push(format!("{what}: the error is not the last word:\n{said}"));
        }
        if !output.stdout.is_empty() {
            wrong.push(format!("{what}: printed a result"));
        }
        if place.files() != before {
            wrong.push(format!("{what}: left {:?} behind", place.files()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_closed_pipe_is_success() {
    use std::process::{Command, Stdio};
    let place = Place::new();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("loopfit"))
        .args(["budget", "--dim", "1", "--budget", "4000"])
        .current_dir(place.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
