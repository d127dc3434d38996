//! Raw files from the network: downloaded, unpacked and verified before anyone sees them.

use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use calamine::{Data, Reader, Xls, Xlsx};
use flate2::read::MultiGzDecoder;
use ureq::Agent;

use super::files::read_unpacked;
use super::{Origin, RawFile};

/// The largest download, packed or unpacked.
const MOST_BYTES: u64 = 1 << 30;
/// How long a server may take to answer, and to send more.
const PATIENCE: Duration = Duration::from_secs(60);

/// Why a file could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A file that no one publishes.
    #[error("`{file}` is not published: copy it into the data folder by hand")]
    NotPublished {
        /// The file.
        file: &'static str,
    },
    /// An address that has no file, or a server that refuses it.
    #[error(
        "`{url}` answers with status {status}: look for the file's new place, download it by hand, or name a mirror"
    )]
    Status {
        /// The address.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// No connection or one that broke.
    #[error(
        "`{url}` cannot be downloaded ({cause}): check the network connection and try again, or name a mirror"
    )]
    Network {
        /// The address.
        url: String,
        /// What the client says.
        cause: String,
    },
    /// A mirror that is neither a folder nor an address.
    #[error(
        "`{0}` is neither a folder nor an address: name a folder that has the files at SET/FILE, or an http or https address"
    )]
    Mirror(String),
    /// A folder without the file.
    #[error(
        "`{folder}` has no `{file}`, plain or with .gz added: name a folder that has the files at SET/FILE"
    )]
    NotInFolder {
        /// The folder.
        folder: String,
        /// The file.
        file: &'static str,
    },
    /// A download that cannot be unpacked.
    #[error("what `{url}` holds cannot be unpacked: {why}")]
    Archive {
        /// The address.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// Other content.
    #[error(
        "what `{url}` holds is not the published `{file}`: its checksum differs, and nothing was written"
    )]
    Checksum {
        /// The address.
        url: String,
        /// The file.
        file: &'static str,
    },
}

/// Downloads files, or copies them from a folder.
pub struct Fetcher {
    agent: Agent,
    mirror: Option<Mirror>,
}

/// Where the files are, if not at their public sources.
enum Mirror {
    Address(String),
    Folder(PathBuf),
}

impl Mirror {
    /// An http or https address, a folder, or one written as `file://`.
    fn new(text: &str) -> Result<Self, FetchError> {
        let lower = text.to_ascii_lowercase();
        if lower.starts_with("http://") || lower.starts_with("https://") {
            return Ok(Self::Address(text.trim_end_matches('/').to_string()));
        }
        let folder = match lower.strip_prefix("file://") {
            Some(rest) => PathBuf::from(&text[text.len() - rest.len()..]),
            None => PathBuf::from(text),
        };
        match folder.is_dir() {
            true => Ok(Self::Folder(folder)),
            false => Err(FetchError::Mirror(text.to_string())),
        }
    }
}

impl Fetcher {
    /// From the public sources, or from a mirror (an address or a folder) that has the files at `mirror/PATH`, plain or
    /// with `.gz` added.
    pub fn new(mirror: Option<&str>) -> Result<Self, FetchError> {
        let config = Agent::config_builder()
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .build();
        Ok(Self {
            agent: config.into(),
            mirror: mirror.map(Mirror::new).transpose()?,
        })
    }

    /// The uncompressed content of a file, verified.
    pub fn fetch(&self, file: &RawFile) -> Result<Vec<u8>, FetchError> {
        let (url, content) = match &self.mirror {
            Some(Mirror::Address(address)) => self.ask_mirror(address, file)?,
            Some(Mirror::Folder(folder)) => from_folder(folder, file)?,
            None => self.ask_origin(file)?,
        };
        if file.is_content(&content) {
            Ok(content)
        } else {
            Err(FetchError::Checksum {
                url,
                file: file.path,
            })
        }
    }

    fn ask_mirror(&self, mirror: &str, file: &RawFile) -> Result<(String, Vec<u8>), FetchError> {
        let plain = format!("{mirror}/{}", file.path.replace(' ', "%20"));
        match self.download(&plain) {
            Err(FetchError::Status { status: 404, .. }) => {}
            other => return Ok((plain, other?)),
        }
        let zipped = format!("{plain}.gz");
        let content = self.download(&zipped).map_err(|error| match error {
            FetchError::Status { status, .. } => FetchError::Status { url: plain, status },
            other => other,
        })?;
        match gunzip(&content) {
            Ok(content) => Ok((zipped, content)),
            Err(cause) => Err(FetchError::Archive {
                url: zipped,
                why: cause.to_string(),
            }),
        }
    }

    fn ask_origin(&self, file: &RawFile) -> Result<(String, Vec<u8>), FetchError> {
        let url = match file.origin {
            Origin::File { url }
            | Origin::Zip { url, .. }
            | Origin::ZipSheet { url, .. }
            | Origin::Tgz { url, .. } => url,
            Origin::Substitute => return Err(FetchError::NotPublished { file: file.path }),
        };
        let content = self.download(url)?;
        let content = unpack(file.origin, content).map_err(|why| FetchError::Archive {
            url: url.to_string(),
            why,
        })?;
        Ok((url.to_string(), content))
    }

    fn download(&self, url: &str) -> Result<Vec<u8>, FetchError> {
        let network = |cause: ureq::Error| match cause {
            ureq::Error::StatusCode(status) => FetchError::Status {
                url: url.to_string(),
                status,
            },
            other => FetchError::Network {
                url: url.to_string(),
                cause: other.to_string(),
            },
        };
        let mut response = self.agent.get(url).call().map_err(network)?;
        let body = response.body_mut().with_config().limit(MOST_BYTES);
        body.read_to_vec().map_err(network)
    }
}

/// The uncompressed content of a file in a folder, and its place.
fn from_folder(folder: &Path, file: &RawFile) -> Result<(String, Vec<u8>), FetchError> {
    let path = file.locate(folder).ok_or_else(|| FetchError::NotInFolder {
        folder: folder.display().to_string(),
        file: file.path,
    })?;
    let url = path.display().to_string();
    match read_unpacked(&path) {
        Ok(content) => Ok((url, content)),
        Err(cause) => Err(FetchError::Archive {
            url,
            why: cause.to_string(),
        }),
    }
}

/// The raw file in what its origin sends, or why there is none.
fn unpack(origin: Origin, content: Vec<u8>) -> Result<Vec<u8>, String> {
    match origin {
        Origin::File { .. } | Origin::Substitute => Ok(content),
        Origin::Zip { member, .. } => from_zip(content, member),
        Origin::ZipSheet { member, .. } => first_sheet(from_zip(content, member)?, member),
        Origin::Tgz { member, .. } => {
            let mut archive = tar::Archive::new(MultiGzDecoder::new(content.as_slice()));
            let entries = archive.entries().map_err(|e| e.to_string())?;
            for entry in entries {
                let entry = entry.map_err(|e| e.to_string())?;
                let path = entry.path().map_err(|e| e.to_string())?;
                if path.file_name().is_some_and(|name| name == member) {
                    return limited(entry).map_err(|e| e.to_string());
                }
            }
            Err(format!("the archive has no `{member}`"))
        }
    }
}

fn from_zip(content: Vec<u8>, member: &str) -> Result<Vec<u8>, String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(content)).map_err(|e| e.to_string())?;
    let path = archive
        .file_names()
        .filter_map(Result::ok)
        .find(|path| path.rsplit('/').next() == Some(member))
        .ok_or_else(|| format!("the archive has no `{member}`"))?
        .to_string();
    let entry = archive.by_name(&path).map_err(|e| e.to_string())?;
    limited(entry).map_err(|e| e.to_string())
}

/// The first sheet of an xls or xlsx file as csv. A column of integers is written without
/// decimals, any other with the shortest decimals that read back, as `540.0`.
fn first_sheet(content: Vec<u8>, member: &str) -> Result<Vec<u8>, String> {
    let content = Cursor::new(content);
    let sheet = if member.ends_with(".xlsx") {
        let mut book = Xlsx::new(content).map_err(|e| e.to_string())?;
        let sheet = book.worksheet_range_at(0);
        sheet.map(|sheet| sheet.map_err(|e| e.to_string()))
    } else {
        let mut book = Xls::new(content).map_err(|e| e.to_string())?;
        let sheet = book.worksheet_range_at(0);
        sheet.map(|sheet| sheet.map_err(|e| e.to_string()))
    };
    let sheet = sheet.ok_or("the spreadsheet has no sheet")??;
    let integral = |cell: &Data| match cell {
        Data::Float(v) => v.fract() == 0.0,
        _ => true,
    };
    let integers: Vec<bool> = (0..sheet.width())
        .map(|column| sheet.rows().skip(1).all(|row| integral(&row[column])))
        .collect();
    let text = |(column, cell): (usize, &Data)| match cell {
        Data::Float(v) if integers[column] => format!("{v:.0}"),
        Data::Float(v) => format!("{v:?}"),
        Data::Int(v) if integers[column] => v.to_string(),
        Data::Int(v) => format!("{:?}", *v as f64),
        other => other.to_string(),
    };
    let mut csv = csv::Writer::from_writer(Vec::new());
    for row in sheet.rows() {
        let cells = row.iter().enumerate().map(text);
        csv.write_record(cells).map_err(|e| e.to_string())?;
    }
    csv.into_inner().map_err(|e| e.to_string())
}

fn gunzip(content: &[u8]) -> io::Result<Vec<u8>> {
    limited(MultiGzDecoder::new(content))
}

fn limited(reader: impl Read) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    reader.take(MOST_BYTES).read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::DataSet;
    use std::io::Write;

    fn zipped(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (path, content) in files {
            let options = zip::write::SimpleFileOptions::default();
            archive.start_file(*path, options).unwrap();
            archive.write_all(content).unwrap();
        }
        archive.finish().unwrap().into_inner()
    }

    #[test]
    fn members_are_found_wherever_they_lie() {
        let origin = |member| Origin::Zip { url: "", member };
        let archive = zipped(&[("Readme", b"no"), ("folder/data 1.csv", b"1,2\n")]);
        let found = unpack(origin("data 1.csv"), archive.clone());
        assert_eq!(found, Ok(b"1,2\n".to_vec()));
        let missing = unpack(origin("1.csv"), archive);
        assert_eq!(missing, Err("the archive has no `1.csv`".to_string()));
        assert!(unpack(origin("a"), b"<html>".to_vec()).is_err());
    }

    #[test]
    fn tar_archives_are_read() {
        let gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut archive = tar::Builder::new(gz);
        let mut header = tar::Header::new_gnu();
        header.set_size(4);
        header.set_cksum();
        let path = "CaliforniaHousing/cal_housing.data";
        archive
            .append_data(&mut header, path, &b"1,2\n"[..])
            .unwrap();
        let content = archive.into_inner().unwrap().finish().unwrap();
        let origin = |member| Origin::Tgz { url: "", member };
        let found = unpack(origin("cal_housing.data"), content.clone());
        assert_eq!(found, Ok(b"1,2\n".to_vec()));
        assert!(unpack(origin("other"), content).is_err());
    }

    /// The csv form of the power plant data, through an xlsx file with all seventeen digits.
    #[test]
    #[ignore = "needs the data sets of the paper in LOOPFIT_DATA"]
    fn an_xlsx_sheet_becomes_the_published_csv() {
        let folder = std::env::var_os("LOOPFIT_DATA").unwrap();
        let plant = &DataSet::find("power-plant").unwrap().files[0];
        let path = plant.locate(Path::new(&folder)).unwrap();
        let csv = String::from_utf8(read_unpacked(&path).unwrap()).unwrap();
        let cell = |text: &str| match text.parse::<f64>() {
            Ok(v) => format!("<c><v>{v:.16e}</v></c>"),
            Err(_) => format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>"),
        };
        let rows = csv.lines().map(|line| {
            let cells: String = line.split(',').map(cell).collect();
            format!("<row>{cells}</row>")
        });
        let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
        let office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
        let package = "http://schemas.openxmlformats.org/package/2006/relationships";
        let sheet = format!(
            "<worksheet xmlns=\"{main}\"><sheetData>{}</sheetData></worksheet>",
            rows.collect::<String>()
        );
        let book = format!(
            "<workbook xmlns=\"{main}\" xmlns:r=\"{office}\"><sheets><sheet name=\"Sheet1\" sheetId=\"1\" r:id=\"rId1\"/></sheets></workbook>"
        );
        let link = |kind: &str, target: &str| {
            format!(
                "<Relationships xmlns=\"{package}\"><Relationship Id=\"rId1\" Type=\"{office}/{kind}\" Target=\"{target}\"/></Relationships>"
            )
        };
        let package_links = link("officeDocument", "xl/workbook.xml");
        let book_links = link("worksheet", "worksheets/sheet1.xml");
        let xlsx = zipped(&[
            ("xl/workbook.xml", book.as_bytes()),
            ("_rels/.rels", package_links.as_bytes()),
            ("xl/_rels/workbook.xml.rels", book_links.as_bytes()),
            ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
        ]);
        let archive = zipped(&[("CCPP/Folds5x2_pp.xlsx", &xlsx)]);
        let made = unpack(plant.origin, archive).unwrap();
        assert!(
            plant.is_content(&made),
            "{}",
            String::from_utf8_lossy(&made[..200])
        );
    }

    /// The csv form of the concrete data is that of its spreadsheet, byte for byte.
    #[test]
    #[ignore = "needs the data sets of the paper in LOOPFIT_DATA"]
    fn a_sheet_becomes_the_published_csv() {
        let folder = std::env::var_os("LOOPFIT_DATA").unwrap();
        let Ok(xls) = std::fs::read(Path::new(&folder).join("concrete/Concrete_Data.xls")) else {
            return;
        };
        let concrete = &DataSet::find("concrete").unwrap().files[0];
        let archive = zipped(&[("Concrete_Data.xls", &xls)]);
        let csv = unpack(concrete.origin, archive).unwrap();
        assert!(
            concrete.is_content(&csv),
            "{}",
            String::from_utf8_lossy(&csv[..600])
        );
    }
}
