//! A device that is the processor.

use crate::device::{Device, Fault, Grid, Part, Variant};
use crate::layout::{Address, Fit, Launch};
use crate::source::{Side, source};
use libloading::{Library, Symbol};
use std::alloc::{Layout, alloc, dealloc};
use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};

type Run = unsafe extern "C" fn(*const c_char, u32, u32, u32, *const Launch) -> i32;

/// Compiles kernels with the C++ compiler and runs them here.
pub(crate) struct Emulated {
    folder: tempfile::TempDir,
    compiler: PathBuf,
    libraries: Mutex<HashMap<Variant, Arc<Library>>>,
    memory: Mutex<HashMap<Address, Layout>>,
}

impl Emulated {
    /// None where there is no C++ compiler: the caller says that it skips.
    pub(crate) fn new() -> Option<Self> {
        let compiler = ["g++", "c++", "clang++"].into_iter().find(|name| {
            Command::new(name)
                .arg("--version")
                .output()
                .is_ok_and(|output| output.status.success())
        })?;
        Some(Self {
            folder: tempfile::tempdir().unwrap(),
            compiler: compiler.into(),
            libraries: Mutex::default(),
            memory: Mutex::default(),
        })
    }

    pub(crate) fn library(&self, variant: Variant) -> Arc<Library> {
        let mut libraries = self.libraries.lock().unwrap();
        let number = libraries.len();
        libraries
            .entry(variant)
            .or_insert_with(|| {
                let place = |end: &str| self.folder.path().join(format!("{number}.{end}"));
                let text = source(Side::Host) + include_str!("../kernels/host_entry.cpp");
                std::fs::write(place("cpp"), text).unwrap();
                let output = Command::new(&self.compiler)
                    .args([
                        "-std=c++17",
                        "-O1",
                        "-ffp-contract=off",
                        "-fPIC",
                        "-shared",
                        "-U_FORTIFY_SOURCE",
                        "-w",
                    ])
                    .args(variant.defines().iter().map(|d| format!("-D{d}")))
                    .arg("-o")
                    .args([place("so"), place("cpp")])
                    .output()
                    .unwrap();
                assert!(
                    output.status.success(),
                    "{}",
                    String::from_utf8_lossy(&output.stderr)
                );
                // SAFETY: a library without initialisers.
                Arc::new(unsafe { Library::new(place("so")) }.unwrap())
            })
            .clone()
    }
}

impl Device for Arc<Emulated> {
    fn processors(&self) -> usize {
        2
    }

    fn shared_limit(&self) -> usize {
        232_448
    }

    fn free_memory(&self) -> Result<usize, Fault> {
        Ok(1 << 30)
    }

    fn allocate(&self, _: u64, bytes: usize) -> Result<Address, Fault> {
        let layout = Layout::from_size_align(bytes, 256).unwrap();
        // SAFETY: the size is not zero.
        let address = unsafe {
            let address = alloc(layout);
            // What is read before it is written must not look like a number.
            address.write_bytes(0xff, bytes);
            address as Address
        };
        self.memory.lock().unwrap().insert(address, layout);
        Ok(address)
    }

    fn release(&self, _: u64, address: Address) {
        let layout = self.memory.lock().unwrap().remove(&address).unwrap();
        // SAFETY: allocated above with this layout.
        unsafe { dealloc(address as *mut u8, layout) };
    }

    fn queue(&self, _: bool) -> Result<u64, Fault> {
        Ok(0)
    }

    fn close(&self, _: u64) {}

    fn write(&self, _: u64, to: Address, bytes: &[u8]) -> Result<(), Fault> {
        // SAFETY: an address of an arena with room for the bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to as *mut u8, bytes.len()) };
        Ok(())
    }

    fn read(&self, _: u64, from: Address, bytes: &mut [u8]) -> Result<(), Fault> {
        // SAFETY: an address of an arena with so many bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(from as *const u8, bytes.as_mut_ptr(), bytes.len());
        };
        Ok(())
    }

    fn is_prepared(&self, _: Variant) -> bool {
        true
    }

    fn prepare(&self, variant: Variant) -> Result<(), Fault> {
        self.library(variant);
        Ok(())
    }

    fn launch(&self, _: u64, variant: Variant, grid: Grid, with: &Launch) -> Result<(), Fault> {
        let library = self.library(variant);
        let name = CString::new(grid.kernel).unwrap();
        // SAFETY: the function has this type; the kernels stay within the arena, which is what the tests are about.
        let code = unsafe {
            let run: Symbol<Run> = library.get(b"loopfit_launch\0").unwrap();
            run(
                name.as_ptr(),
                grid.blocks as u32,
                grid.threads as u32,
                grid.shared as u32,
                with,
            )
        };
        assert_eq!(code, 0, "{grid:?}");
        Ok(())
    }
}

fn some_variant() -> Variant {
    Variant {
        part: Part::Validate,
        q: 2,
        activation: 3,
        threads: 256,
        units: 1,
        strips: 1,
        shared_states: false,
        shared_inputs: false,
        single: false,
    }
}

/// Both sides agree on what a launch is.
#[test]
fn structures_have_the_same_size() {
    let Some(emulated) = Emulated::new() else {
        eprintln!("skipped: there is no C++ compiler");
        return;
    };
    let library = emulated.library(some_variant());
    // SAFETY: the function has this type.
    let size = |which: i32| unsafe {
        let sizes: Symbol<unsafe extern "C" fn(i32) -> u32> =
            library.get(b"loopfit_sizes\0").unwrap();
        sizes(which) as usize
    };
    assert_eq!(size(0), size_of::<Fit>());
    assert_eq!(size(1), size_of::<Launch>());
}

/// The kernels' functions of numbers have the bits of `libm` and of the lanes.
#[test]
fn functions_have_the_same_bits() {
    use loopfit_numerics::lanes::{Kernel, Lane, Level};
    use loopfit_numerics::libm;
    use loopfit_numerics::stream::Stream;
    let Some(emulated) = Emulated::new() else {
        eprintln!("skipped: there is no C++ compiler");
        return;
    };
    let library = emulated.library(some_variant());
    // SAFETY: the functions have these types.
    let (double, single) = unsafe {
        let double: Symbol<unsafe extern "C" fn(i32, f64) -> f64> =
            library.get(b"loopfit_double\0").unwrap();
        let single: Symbol<unsafe extern "C" fn(i32, f32) -> f32> =
            library.get(b"loopfit_single\0").unwrap();
        (double, single)
    };
    let functions: [fn(f64) -> f64; 3] = [libm::exp, libm::log, libm::log1p];
    let stream = Stream::new(7);
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1e-300,
        1e300,
        709.7,
        709.8,
        -708.4,
        -745.2,
        1e-20,
        f64::MIN_POSITIVE / 8.0,
    ];
    let drawn = (0..20_000).map(|i| {
        let size = [1e-3, 1.0, 30.0, 800.0][i as usize % 4];
        (stream.uniform(i) * 2.0 - 1.0) * size
    });
    for x in special.into_iter().chain(drawn) {
        for (which, function) in functions.iter().enumerate() {
            let argument = if which == 0 { x } else { x.abs() };
            // SAFETY: as above.
            let found = unsafe { double(which as i32, argument) };
            assert_eq!(
                found.to_bits(),
                function(argument).to_bits(),
                "{which} at {argument}"
            );
        }
    }
    struct Functions([f32; 16]);
    impl Kernel for Functions {
        type Output = [Lane; 5];
        #[inline(always)]
        fn run<S: loopfit_numerics::lanes::Across>(self, s: S) -> [Lane; 5] {
            let x = s.load(&Lane(self.0));
            let (sine, cosine) = s.sin_cos(x);
            let mut lanes = [Lane::ZERO; 5];
            for (lane, value) in
                lanes
                    .iter_mut()
                    .zip([s.exp(x), s.tanh(x), s.sigmoid(x), sine, cosine])
            {
                s.store(lane, value);
            }
            lanes
        }
    }
    for i in 0..2_000u64 {
        let size = [1e-2, 3.0, 100.0, 1e4][i as usize % 4];
        let x: [f32; 16] = std::array::from_fn(|lane| {
            ((stream.uniform(i * 16 + lane as u64) * 2.0 - 1.0) * size) as f32
        });
        let expected = Level::fastest().run(Functions(x));
        for (which, line) in expected.iter().enumerate() {
            for (x, y) in x.iter().zip(line.0) {
                // SAFETY: as above.
                let found = unsafe { single(which as i32, *x) };
                assert_eq!(found.to_bits(), y.to_bits(), "{which} at {x}");
            }
        }
    }
}
