//! ref
mod basis;
mod bins;
pub mod boost;
pub mod kernel;
mod loss;
mod panels;
mod tree;

use loss::Loss;

/// Rows to explain.
#[derive(Clone, Copy, Debug)]
struct Table<'a> {
    x: &'a [f32],
    d: usize,
    targets: &'a [f32],
    loss: Loss,
}

impl Table<'_> {
    fn n(&self) -> usize {
        self.targets.len()
    }

    fn y(&self, row: u32) -> f64 {
        f64::from(self.targets[row as usize])
    }
}

impl<'a> Table<'a> {
    fn row(&self, row: u32) -> &'a [f32] {
        &self.x[row as usize * self.d..][..self.d]
    }

    fn rows(&self, rows: &[u32]) -> Vec<f32> {
        rows.iter().flat_map(|row| self.row(*row)).copied().collect()
    }
}

/// Rows that a fit learns from, and rows that it is judged by.
struct Fold {
    kept: Vec<u32>,
    held: Vec<u32>,
}
pub mod bench {
use super::*;
use super::boost::*;
use super::tree::Shape;
use loopfit_likelihood::Likelihood;
use loopfit_data::Samples;
use loopfit_numerics::stream::Stream;
pub fn trees(samples:&Samples, test:&Samples, lik:Likelihood, folds:&[Vec<usize>], scale:f64){
  let loss=Loss::of(lik).unwrap();
  let table=Table{x:samples.x(),d:samples.d(),targets:samples.y(),loss};
  let binned=Binned::new(&table);
  let folds:Vec<Fold>=folds.iter().map(|h|{let mut k=vec![true;samples.n()];for r in h{k[*r]=false;}
   Fold{kept:(0..samples.n()as u32).filter(|r|k[*r as usize]).collect(),held:h.iter().map(|r|*r as u32).collect()}}).collect();
  let stop=||false;
  let env=|k:&str,d:&str|->Vec<f64>{std::env::var(k).unwrap_or(d.into()).split(',').map(|v|v.parse().unwrap()).collect()};
  let mut settings=vec![];
  for leaves in env("LEAVES","2,4,8,16"){for rate in env("RATE","0.1"){for rows in env("LEAST","5"){for ridge in env("RIDGE","1"){for sr in env("ROWS","0.7"){for si in env("INPUTS","1"){
   settings.push(Setting{shape:Shape{leaves:leaves as usize,rows:rows as usize,ridge},rate,rows:sr,inputs:si});}}}}}}
  let pat=Patience{rounds:env("ROUNDS","400")[0] as usize,worse:50};
  let t=std::time::Instant::now();
  let r=race(&binned,&folds,&settings,pat,Stream::new(3),&stop).unwrap();
  let el=t.elapsed().as_secs_f64();
  for (s,(cv,rounds)) in settings.iter().zip(&r){
   let e=binned.fit(&(0..samples.n() as u32).collect::<Vec<_>>(),*s,*rounds,Stream::new(3));
   let f=e.outputs(test.x());
   let k=loss.outputs();
   let te:f64=(0..test.n()).map(|i|loss.value(f64::from(test.y()[i]),&f[i*k..][..k])).sum::<f64>()/test.n() as f64;
   println!("   l{} r{} ms{} ridge{} rows{} in{}: cv {:.5} test {:.5} rounds {rounds}",s.shape.leaves,s.rate,s.shape.rows,s.shape.ridge,s.rows,s.inputs,cv*scale,te*scale);
  }
  println!("   time {el:.2}");
  if std::env::var("DBG").is_ok() { for leaves in [2usize,4,16]{for it in [1usize,10,100]{
   let s=Setting{shape:Shape{leaves,rows:5,ridge:1.0},rate:0.1,rows:1.0,inputs:1.0};
   let e=binned.fit(&(0..samples.n() as u32).collect::<Vec<_>>(),s,it,Stream::new(3));
   for t in [samples,test]{let f=e.outputs(t.x()); let te:f64=(0..t.n()).map(|i|loss.value(f64::from(t.y()[i]),&f[i..][..1])).sum::<f64>()/t.n() as f64;print!(" {leaves} {it} {:.6}",te*scale);} println!();
  }}}
}

pub fn kernels(samples:&Samples, test:&Samples, lik:Likelihood, folds:&[Vec<usize>], scale:f64){
  use super::kernel::*; use super::basis::*;
  let loss=Loss::of(lik).unwrap();
  let table=Table{x:samples.x(),d:samples.d(),targets:samples.y(),loss};
  let folds:Vec<Fold>=folds.iter().map(|h|{let mut k=vec![true;samples.n()];for r in h{k[*r]=false;}
   Fold{kept:(0..samples.n()as u32).filter(|r|k[*r as usize]).collect(),held:h.iter().map(|r|*r as u32).collect()}}).collect();
  let stop=||false;
  let env=|k:&str,d:&str|->Vec<f64>{std::env::var(k).unwrap_or(d.into()).split(',').map(|v|v.parse().unwrap()).collect()};
  let m=env("M","256")[0] as usize; let last=env("LAST","512")[0] as usize;
  let ridges=env("RIDGES","3,1,0.3,0.1,0.03,0.01,0.001,0.0001,0.000001");
  let factors=env("FACTORS","0.1,0.25,0.5,1,2");
  let st=Stream::new(3);
  let all:Vec<u32>=(0..samples.n() as u32).collect();
  for radial in [Radial::Matern,Radial::Gaussian]{ for learnt in [Learnt::Weights,Learnt::Directions]{
   let mut metrics=vec![Metric::plain(samples.d());folds.len()];
   let mut steps:Vec<Step>=vec![];
   for round in 0..4{
    let t=std::time::Instant::now();
    let ks:Vec<(Radial,f64)>=factors.iter().map(|f|(radial,*f)).collect();
    let l=compare(&table,&folds,&metrics,&ks,&ridges,m,st,&stop).unwrap();
    let t=t.elapsed().as_secs_f64();
    let (mut b,mut bi)=(f64::INFINITY,(0,0));
    for i in 0..ks.len(){for j in 0..ridges.len(){if l[i][j]<b{b=l[i][j];bi=(i,j);}}}
    steps.push(Step{learnt,radial,factor:ks[bi.0].1,ridge:ridges[bi.1]});
    let set=Setting{steps:steps.clone()};
    let ev=|mm:usize|{let e=fit(&table,&all,&set,m,mm,st);let f=e.outputs(test.x());let k=loss.outputs();
      scale*(0..test.n()).map(|i|loss.value(f64::from(test.y()[i]),&f[i*k..][..k])).sum::<f64>()/test.n() as f64};
    let tt=std::time::Instant::now();
    let (t1,t2)=(ev(m),ev(last));
    println!("   {radial:?} {learnt:?} {round} cv {:.5} test {:.5} test{last} {:.5} f{} r{} time {t:.2} {:.2}",b*scale,t1,t2,ks[bi.0].1,ridges[bi.1],tt.elapsed().as_secs_f64());
    metrics=folds.iter().zip(&metrics).map(|(f,me)|{
      let basis=Basis::new(&table,&f.kept,m,me.clone(),radial,ks[bi.0].1,st);
      let d=Design::new(&table,&f.kept,basis); let w=d.solve(ridges[bi.1],None); d.basis.learn(&table,&f.kept,&w,learnt)}).collect();
   }
  }}
}
}
