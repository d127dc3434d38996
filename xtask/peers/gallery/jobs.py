"""The jobs of the gallery: functions for which engineers keep tables and polynomials, from formulas that anyone can check."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass
class Job:
    """A function of a box. `outputs` are columns with their units; each is a model of its own."""

    name: str
    title: str
    # In Markdown: the formula and where it comes from.
    formula: str
    # Column, unit, ends of its interval.
    inputs: list[tuple[str, str, float, float]]
    outputs: list[tuple[str, str]]
    # A matrix of inputs to a matrix of outputs.
    function: Callable
    # The cap on the numbers of each model.
    cap: int
    # Points of a grid over the box, ends included: for training and for tests.
    train: int
    test: int

    def grid(self, points):
        axes = [np.linspace(low, high, points) for _, _, low, high in self.inputs]
        return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


# Ohms of the resistor that stands above the thermistor, and the coefficients of a common part of 10 kilohms.
DIVIDER = 10_000.0
STEINHART_HART = (1.009249522e-3, 2.378405444e-4, 2.019202697e-7)


def thermistor(x):
    ratio = x[:, 0]
    log_r = np.log(DIVIDER * ratio / (1 - ratio))
    a, b, c = STEINHART_HART
    return (1 / (a + b * log_r + c * log_r**3) - 273.15)[:, None]


def wet_bulb(x):
    t, rh = x.T
    wet = t * np.arctan(0.151977 * np.sqrt(rh + 8.313659)) + np.arctan(t + rh) - np.arctan(rh - 1.676331)
    return (wet + 0.00391838 * rh**1.5 * np.arctan(0.023101 * rh) - 4.686035)[:, None]


def lab(x):
    linear = np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    ratios = linear @ np.array(to_xyz).T / [0.9505, 1.0, 1.089]
    delta = 6 / 29
    f = np.where(ratios > delta**3, np.cbrt(ratios), ratios / (3 * delta**2) + 4 / 29)
    fx, fy, fz = f.T
    return np.stack([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)], axis=1)


# Metres.
UPPER_ARM, FOREARM = 1.0, 0.8


def arm(position):
    x, y = position.T
    cosine = (x**2 + y**2 - UPPER_ARM**2 - FOREARM**2) / (2 * UPPER_ARM * FOREARM)
    elbow = np.arccos(cosine)
    shoulder = np.arctan2(y, x) - np.arctan2(FOREARM * np.sin(elbow), UPPER_ARM + FOREARM * np.cos(elbow))
    return np.stack([shoulder, elbow], axis=1)


# Metres by square second, metres, a rate per second.
GRAVITY, LENGTH, FRICTION = 9.81, 1.0, 0.2
SECONDS, STEPS = 4.0, 4000


def pendulum(start):
    def slope(state):
        angle, speed = state
        return np.array([speed, -GRAVITY / LENGTH * np.sin(angle) - FRICTION * speed])

    state, h = start.T, SECONDS / STEPS
    for _ in range(STEPS):
        k1 = slope(state)
        k2 = slope(state + h / 2 * k1)
        k3 = slope(state + h / 2 * k2)
        k4 = slope(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state.T


JOBS = [
    Job(
        "thermistor",
        "Thermistor to temperature",
        "Steinhart and Hart (1968): `1 / T = A + B ln R + C (ln R)^3` in kelvins, with A = 1.009249522e-3, B = 2.378405444e-4,\n"
        "C = 2.019202697e-7 of a part of 10 kΩ. It is read by a divider with 10 kΩ, as such parts are: `ratio = R / (R + 10 kΩ)`.",
        [("ratio", "", 0.03, 0.97)],
        [("celsius", "°C")],
        thermistor,
        64,
        1001,
        20001,
    ),
    Job(
        "wet-bulb",
        "Wet-bulb temperature",
        "Stull (2011), J. Appl. Meteorol. Climatol. 50, 2267, equation 1, for sea level: the wet-bulb temperature from the\n"
        "temperature T in °C and the relative humidity RH in percent, `T atan(0.151977 (RH + 8.313659)^0.5) + atan(T + RH) -\n"
        "atan(RH - 1.676331) + 0.00391838 RH^1.5 atan(0.023101 RH) - 4.686035`.",
        [("temperature", "°C", -20.0, 50.0), ("humidity", "%", 5.0, 99.0)],
        [("wet_bulb", "°C")],
        wet_bulb,
        64,
        45,
        301,
    ),
    Job(
        "lab",
        "sRGB to CIELAB",
        "IEC 61966-2-1 for the way from sRGB in [0, 1] to linear light and XYZ, CIE 1976 for `L*`, `a*` and `b*` under D65. Three\n"
        "models, one for each output.",
        [("r", "", 0.0, 1.0), ("g", "", 0.0, 1.0), ("b", "", 0.0, 1.0)],
        [("L", ""), ("a", ""), ("b_star", "")],
        lab,
        128,
        13,
        41,
    ),
    Job(
        "arm",
        "Inverse kinematics of a two-joint arm",
        "The hand of an arm of 1 m and 0.8 m shall be at (x, y), elbow down: `elbow = acos((x^2 + y^2 - 1 - 0.64) / 1.6)`,\n"
        "`shoulder = atan2(y, x) - atan2(0.8 sin(elbow), 1 + 0.8 cos(elbow))`. Two models, one for each joint.",
        [("x", "m", 0.4, 1.4), ("y", "m", -1.0, 1.0)],
        [("shoulder", "rad"), ("elbow", "rad")],
        arm,
        128,
        45,
        301,
    ),
    Job(
        "pendulum",
        "A pendulum after four seconds",
        "`angle'' = -(9.81 / 1 m) sin(angle) - 0.2 angle'` from an angle and a speed at the start, by the classical Runge-Kutta method\n"
        "with steps of 1 ms. Two models, one for each part of the state.",
        [("angle", "rad", -2.0, 2.0), ("speed", "rad/s", -2.0, 2.0)],
        [("angle_after", "rad"), ("speed_after", "rad/s")],
        pendulum,
        128,
        45,
        301,
    ),
]
