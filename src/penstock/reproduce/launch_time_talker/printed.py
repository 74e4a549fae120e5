# SPDX-License-Identifier: Apache-2.0
"""What the paper prints, in ns."""

FRAMES = 480_000

# Table 1, by whether frames had launch times: least, mean and largest.
INTERVAL = {True: (991_204, 1_000_000, 1_008_884), False: (6_880, 1_000_000, 2_000_088)}
INTERVAL_PEAK_TO_PEAK = {True: 17_680, False: 1_993_208}
PERIOD_JITTER = {True: (3, 25, 8_884), False: (3, 486, 1_000_088)}
DELAY_VARIATION = {True: (3, 25, 8_884), False: (0, 1_771, 1_001_304)}
OUT_OF_STEP = 112  # frames without launch times that missed their window

# Table 2, by transmit offset in us, None without launch times: least, mean and largest total transmit time, and the
# mean period jitter.
TRANSMIT = {
    None: (15_925, 58_182, 88_708),
    65: (53_555, 60_235, 81_161),
    75: (53_816, 70_280.32, 86_044),
    85: (61_213, 80_345, 84_170),
    90: (67_133, 85_298, 85_739),
    95: (70_048, 90_197, 90_688),
}
MEAN_PERIOD_JITTER = {None: 1_421, 65: 16, 75: 11, 85: 10, 90: 10, 95: 10}

# Table 3, by stream and whether there was interference: least, mean and largest total transmit time.
CROSSING = {
    ("tsn", True): (111_549, 112_173, 121_966),
    ("be", True): (92_168, 312_352, 1_374_825),
    ("tsn", False): (111_588, 112_182, 120_641),
    ("be", False): (91_986, 93_268, 102_849),
}
