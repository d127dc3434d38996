"""Checks ONNX files and runs them on rows: `rows.py FOLDER` reads rows.json there and writes answers.json.

Numbers are the bits of doubles on the way in and out, so that nothing is lost.
"""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(string)": object}
folder = pathlib.Path(sys.argv[1])


def feeds(session, columns):
    """Inputs by their names: X, or one for each column."""
    inputs = session.get_inputs()
    columns = [
        np.array(c["texts"], dtype=object)
        if "texts" in c
        else np.array(c["numbers"], dtype=np.uint64).view(np.float64)
        for c in columns
    ]
    with np.errstate(over="ignore"):
        if [i.name for i in inputs] == ["X"]:
            return {"X": np.stack(columns, axis=1).astype(TYPES[inputs[0].type])}
        assert len(inputs) == len(columns)
        return {i.name: c.astype(TYPES[i.type]).reshape(-1, 1) for i, c in zip(inputs, columns)}


def answer(file, case):
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    assert {p.key for p in model.metadata_props} >= {"method", "shape", "count", "cap", "likelihood", "columns"}
    loops = sum(node.op_type == "Loop" for node in model.graph.node)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    given = feeds(session, case["columns"])
    names = [o.name for o in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, given)))
    # A row alone is answered as among others, whatever the runtime does with many; no rows are answered as well.
    alone = session.run(None, {name: values[:1] for name, values in given.items()})
    for name, values in zip(names, alone):
        assert values.shape == (1, *outputs[name].shape[1:]), name
    none = session.run(None, {name: values[:0] for name, values in given.items()})
    assert all(len(values) == 0 for values in none)
    # The standard's own evaluator is slow, and says the same.
    few = {name: values[:40] for name, values in given.items()}
    with np.errstate(all="ignore"):
        expected = ReferenceEvaluator(model).run(None, few)
    for name, values in zip(names, expected):
        if name != "label":
            assert np.allclose(outputs[name][:40], values, rtol=1e-4, atol=1e-4, equal_nan=True), name
    values = outputs["probabilities" if "label" in outputs else "y"]
    assert values.ndim == 2
    bits = values.astype(np.float64).view(np.uint64)
    return [loops, bits.ravel().tolist(), [str(label) for label in outputs.get("label", [])]]


cases = json.loads((folder / "rows.json").read_text())
answers = [[answer(str(folder / file), case) for file in case["files"]] for case in cases]
(folder / "answers.json").write_text(json.dumps(answers))
