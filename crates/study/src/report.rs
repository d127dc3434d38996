//! Tables and figures of a study beside the published numbers.

mod density;
mod figures;
mod records;
mod rule;
mod schedule;
mod sieve;
mod splits;
mod tables;
mod trend;

use crate::StudyError;
use crate::builtin;
use crate::models::Models;
use crate::protocol::{Named, Seeds, Way};
use crate::published::Published;
use crate::results::{Point, Results, read};
use crate::store::{Store, short};
use loopfit_report::statistics::SE;
use loopfit_report::{Align, Block, Document, Link, PAGES, Table};

/// The report of a study in a store, with links to pages of models. Where the store also has the paper's protocol on the same
/// data, seeds and splits, the two are compared.
pub fn report(store: &Store, named: &Named, models: &Models) -> Result<Document, StudyError> {
    let results = read(store, named)?;
    let published = match &named.study.published {
        Some(name) => Published::find(name)?,
        None => Published::default(),
    };
    let mut blocks = opening(&results);
    if results.points.is_empty() {
        blocks.push(Block::Text(
            "No replication is finished yet; run the study to resume it.".to_string(),
        ));
    } else if matches!(named.study.way, Way::Schedule(_)) {
        blocks.extend(schedule::section(&results));
    } else {
        blocks.extend(records::screen(&results));
        blocks.extend(rule::section(&results, &published));
        blocks.extend(sieve::section(&results));
        blocks.extend(figures::curves(&results));
        blocks.extend(trend::section(&results));
        blocks.extend(tables::beside_paper(&results, &published));
        blocks.extend(tables::means(&results));
        blocks.extend(tables::differences(&results, &published));
        blocks.extend(tables::falls(&results, &published));
        blocks.extend(splits::each_split(&results));
        for other in store.studies()? {
            if other.name != named.name {
                blocks.extend(splits::against(&results, &read(store, &other)?));
            }
        }
        blocks.extend(density::section(store, &results)?);
        blocks.extend(figures::pairs(&results, &published));
    }
    if !models.best.is_empty() {
        blocks.push(Block::Heading(PAGES.to_string()));
        blocks.push(Block::Pages(models.links()));
    }
    blocks.extend(records::costs(&results));
    let corrections = builtin::corrections(named);
    let remarks = [
        named.study.caveats.clone(),
        corrections,
        results.notes.clone(),
    ]
    .concat();
    if !remarks.is_empty() {
        blocks.push(Block::Heading("What to keep in mind".to_string()));
        blocks.push(Block::Bullets(remarks));
    }
    blocks.extend(records::each_seed(&results));
    Ok(Document {
        title: named.study.title.clone(),
        subtitle: named.study.question.clone(),
        blocks,
    })
}

/// The page that leads to the reports of some studies in a store.
pub fn index(store: &Store, studies: &[Named]) -> Result<Document, StudyError> {
    let mut table = Table::new([
        ("study", Align::Left),
        ("protocol", Align::Left),
        ("replications", Align::Right),
        ("state", Align::Left),
    ]);
    let mut links = Vec::new();
    for named in studies {
        let (done, all) = read(store, named)?.tasks;
        table.push([
            named.name.clone(),
            short(&named.study.hash()),
            format!("{done}/{all}"),
            match done == all {
                true => "complete",
                false => "not complete",
            }
            .to_string(),
        ]);
        links.push(Link {
            page: named.name.clone(),
            title: named.study.title.clone(),
            text: named.study.question.clone(),
        });
    }
    Ok(Document {
        title: "Studies".to_string(),
        subtitle: String::new(),
        blocks: vec![
            Block::Links(links),
            Block::Table {
                caption: "How far each study is.".to_string(),
                table,
            },
        ],
    })
}

/// What was run, and how much of it.
fn opening(results: &Results) -> Vec<Block> {
    let study = &results.study;
    let (done, all) = results.tasks;
    let range = |seeds: Seeds| format!("{} to {}", seeds.first, seeds.first + seeds.count - 1);
    let mut ranges: Vec<String> = Vec::new();
    for case in &study.cases {
        let own = range(study.seeds_of(case));
        if !ranges.contains(&own) {
            ranges.push(own);
        }
    }
    let mut text = format!(
        "Protocol {} ({}), seeds {}.",
        results.name,
        short(&study.hash()),
        ranges.join(", ")
    );
    if let Some(list) = study.way.shortlist() {
        text += &format!(" Development on seeds {}.", range(list.development.seeds));
    }
    if done < all {
        text += &format!(" NOT COMPLETE: {done} of {all} replications are finished.");
    }
    let of_splits = |p: &Point| p.entries.iter().any(|e| e.splits().len() > 1);
    let splits = match results.points.iter().any(of_splits) {
        true => {
            " Of a mean over S test splits it is the root of the sum of the squared SE of each split, divided by S: \
             how far other seeds would move the mean on the same test rows, not how far other test rows would."
        }
        false => "",
    };
    text += &format!(
        " Means have their SE in parentheses; lower is better. {SE}, in tables and figures alike.{splits}"
    );
    vec![Block::Text(text)]
}
