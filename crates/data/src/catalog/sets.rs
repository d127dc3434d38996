//! The data sets and their raw files, in the order of the paper's table.

use super::prepare::{as_published, california, room_occupancy, rt_iot, sarcos, sgemm};
use super::{Checksum, DataSet, Origin, RawFile};
use crate::task::TaskKind;

pub(super) static ALL: &[DataSet] = &[
    DataSet {
        name: "airfoil",
        title: "Airfoil",
        task: TaskKind::Regression,
        target: "sound_pressure",
        block: None,
        rows: 1503,
        features: 5,
        classes: None,
        cap: 64,
        files: &[RawFile {
            path: "airfoil/airfoil_self_noise.dat",
            checksum: Checksum::Sha256(
                "74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3",
            ),
            rows: 1503,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/291/airfoil+self+noise.zip",
                member: "airfoil_self_noise.dat",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/291",
        licence: "CC BY 4.0",
        citation: "Brooks, Pope and Marcolini, Airfoil Self-Noise (UCI 291), doi:10.24432/C5VW2C",
        prepare: |f| {
            as_published(
                f,
                false,
                &[
                    "frequency",
                    "angle_of_attack",
                    "chord_length",
                    "free_stream_velocity",
                    "displacement_thickness",
                    "sound_pressure",
                ],
            )
        },
    },
    DataSet {
        name: "power-plant",
        title: "Power plant",
        task: TaskKind::Regression,
        target: "PE",
        block: None,
        rows: 9568,
        features: 4,
        classes: None,
        cap: 32,
        files: &[RawFile {
            path: "power-plant/Folds5x2_pp_sheet1.csv",
            checksum: Checksum::Sha256(
                "51848da3c8b8c29f709f159fad95443eaa8ff2e95c721a00bba582048cd207e4",
            ),
            rows: 9568,
            origin: Origin::ZipSheet {
                url: "https://archive.ics.uci.edu/static/public/294/combined+cycle+power+plant.zip",
                member: "Folds5x2_pp.xlsx",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/294/combined+cycle+power+plant",
        licence: "CC BY 4.0",
        citation: "Tüfekci and Kaya, Combined Cycle Power Plant (UCI 294), doi:10.24432/C5002N",
        prepare: |f| as_published(f, true, &["AT", "V", "AP", "RH", "PE"]),
    },
    DataSet {
        name: "fish-toxicity",
        title: "Fish toxicity",
        task: TaskKind::Regression,
        target: "LC50",
        block: None,
        rows: 908,
        features: 6,
        classes: None,
        cap: 32,
        files: &[RawFile {
            path: "fish-toxicity/qsar_fish_toxicity.csv",
            checksum: Checksum::Sha256(
                "66353822bcf97c50eb9c5265cfe74ccf2dcd101e4e63495e850c370dff867578",
            ),
            rows: 908,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/504/qsar+fish+toxicity.zip",
                member: "qsar_fish_toxicity.csv",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/504",
        licence: "CC BY 4.0",
        citation: "Cassotti, Ballabio, Todeschini and Consonni, QSAR fish toxicity (UCI 504), doi:10.24432/C5JG7B",
        prepare: |f| {
            as_published(
                f,
                false,
                &[
                    "CIC0",
                    "SM1_Dz(Z)",
                    "GATS1i",
                    "NdsCH",
                    "NdssC",
                    "MLOGP",
                    "LC50",
                ],
            )
        },
    },
    DataSet {
        name: "white-wine",
        title: "White wine",
        task: TaskKind::Regression,
        target: "quality",
        block: None,
        rows: 4898,
        features: 11,
        classes: None,
        cap: 64,
        files: &[RawFile {
            path: "white-wine/winequality-white.csv",
            checksum: Checksum::Sha256(
                "76c3f809815c17c07212622f776311faeb31e87610d52c26d87d6e361b169836",
            ),
            rows: 4898,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/186/wine+quality.zip",
                member: "winequality-white.csv",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/186",
        licence: "CC BY 4.0",
        citation: "Cortez, Cerdeira, Almeida, Matos and Reis, Wine Quality (UCI 186), doi:10.24432/C56S3T",
        prepare: |f| {
            as_published(
                f,
                true,
                &[
                    "fixed acidity",
                    "volatile acidity",
                    "citric acid",
                    "residual sugar",
                    "chlorides",
                    "free sulfur dioxide",
                    "total sulfur dioxide",
                    "density",
                    "pH",
                    "sulphates",
                    "alcohol",
                    "quality",
                ],
            )
        },
    },
    DataSet {
        name: "concrete",
        title: "Concrete",
        task: TaskKind::Regression,
        target: "strength",
        block: None,
        rows: 1030,
        features: 8,
        classes: None,
        cap: 128,
        files: &[RawFile {
            path: "concrete/Concrete_Data.csv",
            checksum: Checksum::Sha256(
                "f656a971ce020d12a7d5e1d4aebd103aa28d99a164efca7125091a05380d3db2",
            ),
            rows: 1030,
            origin: Origin::ZipSheet {
                url: "https://archive.ics.uci.edu/static/public/165/concrete+compressive+strength.zip",
                member: "Concrete_Data.xls",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/165/concrete+compressive+strength",
        licence: "CC BY 4.0",
        citation: "Yeh, Concrete Compressive Strength (UCI 165), doi:10.24432/C5PK67",
        prepare: |f| {
            as_published(
                f,
                true,
                &[
                    "cement",
                    "blast_furnace_slag",
                    "fly_ash",
                    "water",
                    "superplasticizer",
                    "coarse_aggregate",
                    "fine_aggregate",
                    "age",
                    "strength",
                ],
            )
        },
    },
    DataSet {
        name: "california-housing",
        title: "California housing",
        task: TaskKind::Regression,
        target: "MedHouseVal",
        block: None,
        rows: 20_640,
        features: 8,
        classes: None,
        cap: 64,
        files: &[RawFile {
            path: "california-housing/cal_housing.data",
            checksum: Checksum::Sha256(
                "a2b44dcc7e1c9091b43c4f458b25cbd1f7e8068d08edd26bc4703108d3fa6214",
            ),
            rows: 20_640,
            origin: Origin::Tgz {
                url: "https://ndownloader.figshare.com/files/5976036",
                member: "cal_housing.data",
            },
        }],
        page: "https://scikit-learn.org/stable/modules/generated/sklearn.datasets.fetch_california_housing.html",
        licence: "public, none stated",
        citation: "Pace and Barry, Sparse spatial autoregressions, Statistics and Probability Letters 33, 1997",
        prepare: california,
    },
    DataSet {
        name: "abalone",
        title: "Abalone",
        task: TaskKind::Regression,
        target: "Rings",
        block: None,
        rows: 4177,
        features: 10,
        classes: None,
        cap: 64,
        files: &[RawFile {
            path: "abalone/abalone.data",
            checksum: Checksum::Sha256(
                "de37cdcdcaaa50c309d514f248f7c2302a5f1f88c168905eba23fe2fbc78449f",
            ),
            rows: 4177,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/1/abalone.zip",
                member: "abalone.data",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/1/abalone",
        licence: "CC BY 4.0",
        citation: "Nash, Sellers, Talbot, Cawthorn and Ford, Abalone (UCI 1), doi:10.24432/C55C7W",
        prepare: |f| {
            as_published(
                f,
                false,
                &[
                    "Sex",
                    "Length",
                    "Diameter",
                    "Height",
                    "Whole_weight",
                    "Shucked_weight",
                    "Viscera_weight",
                    "Shell_weight",
                    "Rings",
                ],
            )
        },
    },
    DataSet {
        name: "sgemm",
        title: "SGEMM",
        task: TaskKind::Regression,
        target: "mean_run_ms",
        block: None,
        rows: 241_600,
        features: 14,
        classes: None,
        cap: 64,
        files: &[RawFile {
            path: "sgemm/sgemm_product.csv",
            checksum: Checksum::Sha256(
                "b545b908c203eaa4d0b78c88e3a7196857efc34da3b6da9be774f017f2b5e960",
            ),
            rows: 241_600,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/440/sgemm+gpu+kernel+performance.zip",
                member: "sgemm_product.csv",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/440/sgemm+gpu+kernel+performance",
        licence: "CC BY 4.0",
        citation: "Paredes and Ballester-Ripoll, SGEMM GPU kernel performance (UCI 440), doi:10.24432/C5MK70",
        prepare: sgemm,
    },
    DataSet {
        name: "sarcos",
        title: "SARCOS",
        task: TaskKind::Regression,
        target: "tau1",
        block: None,
        rows: 48_933,
        features: 21,
        classes: None,
        cap: 512,
        files: &[
            RawFile {
                path: "sarcos/sarcos_inv.mat",
                checksum: Checksum::GitBlob("687b7aaa5faf5a9c67fc6655fd59fd8b4539ad55"),
                rows: 44_484,
                origin: Origin::File {
                    url: "http://www.gaussianprocess.org/gpml/data/sarcos_inv.mat",
                },
            },
            RawFile {
                path: "sarcos/sarcos_inv_test.mat",
                checksum: Checksum::Sha256(
                    "161a59b5c3b4f4b404584323f181607b2acbe620eb134dc720760dc3f38f5cec",
                ),
                rows: 4449,
                origin: Origin::File {
                    url: "http://www.gaussianprocess.org/gpml/data/sarcos_inv_test.mat",
                },
            }, // Every second training row from row 36 398 on that is not in the test file.
            RawFile {
                path: "sarcos/sarcos_inv_extra_rows.csv",
                checksum: Checksum::Sha256(
                    "e81561439d958837cce85470b92e0b8e5394fbaf9c9a534df4020cb76cb87c4b",
                ),
                rows: 3235,
                origin: Origin::Substitute,
            },
        ],
        page: "https://gaussianprocess.org/gpml/data/",
        licence: "research use, none stated",
        citation: "Vijayakumar and Schaal, LWPR, 2000; Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006",
        prepare: sarcos,
    },
    DataSet {
        name: "wall-robot",
        title: "Wall Robot",
        task: TaskKind::Multiclass,
        target: "Class",
        block: Some(60),
        rows: 5456,
        features: 24,
        classes: Some(4),
        cap: 1024,
        files: &[RawFile {
            path: "wall-robot/sensor_readings_24.data",
            checksum: Checksum::Sha256(
                "1108cbbcac9c119519a3c493358d3084bc619b5aaa688212aa75a777aa7bd5fd",
            ),
            rows: 5456,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/194/wall+following+robot+navigation+data.zip",
                member: "sensor_readings_24.data",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/194/wall+following+robot+navigation+data",
        licence: "CC BY 4.0",
        citation: "Freire, Veloso and Barreto, Wall-Following Robot Navigation Data (UCI 194), doi:10.24432/C57C8W",
        prepare: |f| {
            as_published(
                f,
                false,
                &[
                    "US1", "US2", "US3", "US4", "US5", "US6", "US7", "US8", "US9", "US10", "US11",
                    "US12", "US13", "US14", "US15", "US16", "US17", "US18", "US19", "US20", "US21",
                    "US22", "US23", "US24", "Class",
                ],
            )
        },
    },
    DataSet {
        name: "maternal-risk",
        title: "Maternal Risk",
        task: TaskKind::Multiclass,
        target: "RiskLevel",
        block: None,
        rows: 1014,
        features: 6,
        classes: Some(3),
        cap: 512,
        files: &[RawFile {
            path: "maternal-risk/Maternal Health Risk Data Set.csv",
            checksum: Checksum::Sha256(
                "a1f7025719f84715096e0d1f95ae2e56b57809b9b15449e1836c96a7d976ae9b",
            ),
            rows: 1014,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/863/maternal+health+risk.zip",
                member: "Maternal Health Risk Data Set.csv",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/863/maternal+health+risk",
        licence: "CC BY 4.0",
        citation: "Ahmed, Maternal Health Risk (UCI 863), doi:10.24432/C5DP5D",
        prepare: |f| {
            as_published(
                f,
                true,
                &[
                    "Age",
                    "SystolicBP",
                    "DiastolicBP",
                    "BS",
                    "BodyTemp",
                    "HeartRate",
                    "RiskLevel",
                ],
            )
        },
    },
    DataSet {
        name: "rt-iot",
        title: "RT-IoT",
        task: TaskKind::Multiclass,
        target: "Attack_type",
        block: None,
        rows: 30_000,
        features: 93,
        classes: Some(12),
        cap: 4096,
        files: &[RawFile {
            path: "rt-iot/RT_IOT2022.csv",
            checksum: Checksum::Sha256(
                "956956c09c1764584fa08acd0f6876475626bcedcd6a6b1f8c492c2e9a2089ea",
            ),
            rows: 123_117,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/942/rt-iot2022.zip",
                member: "RT_IOT2022",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/942/rt+iot2022",
        licence: "CC BY 4.0",
        citation: "Sharmila and Nagapadma, RT-IoT2022 (UCI 942), doi:10.24432/C5P338",
        prepare: rt_iot,
    },
    DataSet {
        name: "room-occupancy",
        title: "Room Occupancy",
        task: TaskKind::Multiclass,
        target: "Room_Occupancy_Count",
        block: Some(120),
        rows: 10_129,
        features: 19,
        classes: Some(4),
        cap: 1024,
        files: &[RawFile {
            path: "room-occupancy/Occupancy_Estimation.csv",
            checksum: Checksum::Sha256(
                "c090ee5c94b61762bfec9d22767864490b51030f98cca030f02822468db25d9c",
            ),
            rows: 10_129,
            origin: Origin::Zip {
                url: "https://archive.ics.uci.edu/static/public/864/room+occupancy+estimation.zip",
                member: "Occupancy_Estimation.csv",
            },
        }],
        page: "https://archive.ics.uci.edu/dataset/864/room+occupancy+estimation",
        licence: "CC BY 4.0",
        citation: "Singh and Chaudhari, Room Occupancy Estimation (UCI 864), doi:10.24432/C5P605",
        prepare: room_occupancy,
    },
];
