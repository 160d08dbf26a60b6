"""Programs that make or check something: chaos, fuzzing, the sample, figures for the documentation."""
