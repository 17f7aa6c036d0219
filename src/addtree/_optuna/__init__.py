"""The Optuna sampler.

structure    the tree behind the trials of define-by-run code
thresholds   where a number opens parameters
ranges       ranges that differ between trials
codec        distributions and domains, parameters of trials and configurations
inferred     the same for the space that trials show
trials       reading a study: what is new, and what each trial is worth
initial      which trial evaluates which initial configuration
startup      the first trials of a study whose space is still unknown
repetitions  whether a suggestion repeats a trial although the optimizer does not know
model        an optimizer that is told about the trials
shared_fit   what the workers of a study learned
state        what a sampler knows about one study
independent  values of single parameters that the model did not suggest
sampler      `AddTreeSampler`
"""
