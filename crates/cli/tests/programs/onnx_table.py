"""The largest difference between models in ONNX Runtime and a file of `loopfit predict`.

`onnx_table.py TABLE.csv PREDICTIONS.csv MODEL.onnx...` prints it for each: in standard deviations of a response, else in the size of the
answer beyond one. Labels have to be the same wherever two probabilities are not.
"""

import csv
import json
import sys

import numpy as np
import onnx
import onnxruntime

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(string)": object}


def table(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {name: [row[k] for row in rows[1:]] for k, name in enumerate(rows[0])}


def numbers(cells):
    return np.array([cell or "nan" for cell in cells], dtype=np.float64)


def compare(path, given, predicted):
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    about = session.get_modelmeta().custom_metadata_map
    columns, inputs = json.loads(about["columns"]), session.get_inputs()
    if inputs[0].name == "X":
        feeds = {"X": np.stack([numbers(given[c]) for c in columns], axis=1).astype(TYPES[inputs[0].type])}
    else:
        feeds = {}
        for column, i in zip(columns, inputs):
            cells = given[column] if i.type == "tensor(string)" else numbers(given[column])
            feeds[i.name] = np.array(cells, dtype=TYPES[i.type]).reshape(-1, 1)
    outputs = dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
    if "label" in outputs:
        classes = json.loads(about["classes"])
        expected = np.stack([numbers(predicted[f"p({c})"]) for c in classes], axis=1)
        found = outputs["probabilities"]
        top = np.sort(expected, axis=1)
        clear = top[:, -1] - top[:, -2] > 1e-5
        labels = np.array([str(label) for label in outputs["label"]])
        assert clear.mean() > 0.99 and (labels == np.array(predicted["prediction"]))[clear].all()
        size = 1.0
    else:
        expected = numbers(next(iter(predicted.values())))[:, None]
        found = outputs["y"]
        size = np.maximum(1.0, np.abs(np.where(np.isfinite(expected), expected, 1.0)))
        if about["likelihood"] in ("gaussian", "laplace"):
            size = np.std(numbers(given[about["target"]]))
    assert found.shape == expected.shape and np.isfinite(expected).mean() > 0.5
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    with np.errstate(invalid="ignore"):
        return np.max(np.where(same, 0.0, np.abs(found - expected) / size))


read = [table(path) for path in sys.argv[1:3]]
for path in sys.argv[3:]:
    print(compare(path, *read))
