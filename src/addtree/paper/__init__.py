"""The experiments of Ma & Blaschko (AISTATS 2020) and the methods they compare."""
