"""Write a table of patients whose diagnosis follows from their age and ward, up to chance.

python patients.py SEED > patients.csv
"""

import sys

import numpy as np

RECORDS = 2_000
WARDS = ("north", "south", "east", "west")
DIAGNOSES = ("healthy", "flu", "asthma")


def main() -> None:
    """Print the table."""
    rng = np.random.default_rng(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    age = rng.integers(18, 95, RECORDS)
    ward = rng.integers(0, len(WARDS), RECORDS)
    smokes = rng.random(RECORDS) < 0.3
    likely = np.where((age > 60) & smokes, 2, np.where((ward == 1) & (age < 40), 1, 0))
    diagnosis = np.where(rng.random(RECORDS) < 0.75, likely, rng.integers(0, 3, RECORDS))
    lines = ["patient_id,age,ward,smokes,diagnosis"]
    lines += [
        f"P-{i:05d},{age[i]},{WARDS[ward[i]]},{'yes' if smokes[i] else 'no'},"
        f"{DIAGNOSES[diagnosis[i]]}"
        for i in range(RECORDS)
    ]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
