//! A line that lies in several registers.

/// The operations of such a line: those of its registers, which a method gives, by their numbers.
macro_rules! register_by_register {
    ($registers:ident: $($i:literal)*) => {
        #[inline(always)]
        fn splat(self, x: f32) -> Self::V {
            let s = self.$registers();
            [$(s[$i].splat(x)),*]
        }
        #[inline(always)]
        fn load(self, from: &Lane) -> Self::V {
            let s = self.$registers();
            [$(s[$i].load(from)),*]
        }
        #[inline(always)]
        fn store(self, to: &mut Lane, v: Self::V) {
            let s = self.$registers();
            $(s[$i].store(to, v[$i]);)*
        }
        #[inline(always)]
        fn add(self, a: Self::V, b: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].add(a[$i], b[$i])),*]
        }
        #[inline(always)]
        fn sub(self, a: Self::V, b: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].sub(a[$i], b[$i])),*]
        }
        #[inline(always)]
        fn mul(self, a: Self::V, b: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].mul(a[$i], b[$i])),*]
        }
        #[inline(always)]
        fn div(self, a: Self::V, b: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].div(a[$i], b[$i])),*]
        }
        #[inline(always)]
        fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].fma(a[$i], b[$i], c[$i])),*]
        }
        #[inline(always)]
        fn max(self, a: Self::V, b: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].max(a[$i], b[$i])),*]
        }
        #[inline(always)]
        fn min(self, a: Self::V, b: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].min(a[$i], b[$i])),*]
        }
        #[inline(always)]
        fn sqrt(self, a: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].sqrt(a[$i])),*]
        }
        #[inline(always)]
        fn select_greater(self, a: Self::V, b: Self::V, yes: Self::V, no: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].select_greater(a[$i], b[$i], yes[$i], no[$i])),*]
        }
        #[inline(always)]
        fn scale_by_power_of_two(self, v: Self::V, t: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].scale_by_power_of_two(v[$i], t[$i])),*]
        }
        #[inline(always)]
        fn negate_if_odd(self, v: Self::V, t: Self::V) -> Self::V {
            let s = self.$registers();
            [$(s[$i].negate_if_odd(v[$i], t[$i])),*]
        }
    };
}
pub(super) use register_by_register;
