# SPDX-License-Identifier: Apache-2.0
"""What the paper prints. Tables by payload in bytes; cycles of 8 ns."""

from __future__ import annotations

PAYLOADS = (64, 100, 300, 500, 700, 900, 1100, 1300, 1500)
CYCLE_NS = 8

# Tables 2, 3 and 4, column by column: Eth_Ctrl, Pre-Sw FIFO, Set A.T., Calc. E.T., FDB, the queue, FIFO, total in ns.
TABLE_2 = {
    64: (156, 73, 1, 174, 99, 162, 3, 5906),
    100: (228, 109, 1, 246, 135, 234, 3, 8210),
    300: (628, 309, 1, 646, 335, 634, 3, 21010),
    500: (1028, 509, 1, 1046, 535, 1034, 3, 33810),
    700: (1428, 709, 1, 1446, 735, 1434, 3, 46610),
    900: (1828, 909, 1, 1846, 935, 1834, 3, 59410),
    1100: (2228, 1109, 1, 2246, 1135, 2234, 3, 72210),
    1300: (2628, 1309, 1, 2646, 1335, 2634, 3, 85010),
    1500: (3028, 1509, 1, 3046, 1535, 3034, 3, 97810),
}
TABLE_3 = {
    64: (156, 73, 0, 1, 99, 5, 3, 3258),
    100: (228, 109, 0, 1, 135, 5, 3, 4410),
    300: (628, 309, 0, 1, 335, 5, 3, 10810),
    500: (1028, 509, 0, 1, 535, 5, 3, 17210),
    700: (1428, 709, 0, 1, 735, 5, 3, 23610),
    900: (1828, 909, 0, 1, 935, 5, 3, 30010),
    1100: (2228, 1109, 0, 1, 1135, 5, 3, 36410),
    1300: (2628, 1309, 0, 1, 1335, 5, 3, 42810),
    1500: (3028, 1509, 0, 1, 1535, 5, 3, 49210),
}
TABLE_4 = {
    64: (156, 73, 1, 174, 99, 6047, 3, 52986),
    100: (228, 109, 1, 246, 135, 5975, 3, 54138),
    300: (628, 309, 1, 646, 335, 5575, 3, 60538),
    500: (1028, 509, 1, 1046, 535, 5175, 3, 66938),
    700: (1428, 709, 1, 1446, 735, 4775, 3, 73338),
    900: (1828, 909, 1, 1846, 935, 4375, 3, 79738),
    1100: (2228, 1109, 1, 2246, 1135, 3975, 3, 86138),
    1300: (2628, 1309, 1, 2646, 1335, 3575, 3, 92538),
    1500: (3028, 1509, 1, 3046, 1535, 3175, 3, 98938),
}
SMALLEST_DELAY_US = 48.972  # V.B.2: the smallest ProcessingDelayMax
LARGEST_DEVIATION_FIG_11_NS = 218.0

# V.C
FIG_12_BURST = 16  # N
FIG_12_INTERVALS = 16  # of 12.336 us
FIG_12_SHAPED_US = 121.756  # "121.752 or 121.760 us"
LARGEST_DEVIATION_FIG_14_NS = 5.6  # V.D: "3.1 ns to 5.6 ns"
# V.E, by stream: mean interval in us, and by how much intervals fluctuate
FIG_15 = {"slow": (120.5, 10.0), "fast": (60.3, 13.0)}

# VI
FIG_17_WORST_US = 112.0  # "approximately 112 us, which was 13 us increase from the minimum"
# By figure: the increase of the latency, the value of equation (1), and the largest standard deviation, all in us.
INCREASE_US = {"fig17": 13.0, "fig19": 13.0, "fig20": 13.0, "fig21": 26.0}
EQUATION_1_US = {"fig17": 12.3, "fig19": 12.3, "fig20": 12.3, "fig21": 27.4}
DEVIATION_US = {"fig17": 4.26, "fig19": 4.17, "fig20": 4.31, "fig21": 4.93}

# Table 5, of the four-port switch on a Kintex-7: by quantity, then by component.
TABLE_5_COLUMNS = ("MAC", "FIFO", "Sched.", "FDB Sw.", "Trans. Selec.", "Clk. Conv.", "Others")
TABLE_5 = {
    "LUTs": (9832, 5477, 65879, 17539, 51736, 267, 5097, 155827),
    "FFs": (15379, 3664, 50456, 15015, 41296, 448, 7396, 133627),
    "LUTRAMs": (1501, 4096, 112, 32, 25776, 32, 212, 31761),
    "BRAMs": (8, 0, 16, 2, 384, 0, 3, 413),
}
