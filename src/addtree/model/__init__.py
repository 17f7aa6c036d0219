"""The Gaussian process, from a space's terms to a posterior. Only `terms` and `specification` know spaces.

terms            the gated terms of a covariance
cholesky         factors of block-diagonal matrices, extended row by row
kernel           the sum of the terms, and what it derives from encoded rows
kernel_matrices  its values for many rows, with gradients
prior_mean       what is known about the function before its first observation
gp               the likelihood and the posterior
transform        observed values to the scale of the model, and back
priors           priors of the hyperparameters
specification    what a model is asked to be
observations     rows with their values and standard errors
fit              learning the hyperparameters
thinning         choosing the observations to learn from
surrogate        all of it as one frozen object
marginal         averaging over the hyperparameters instead of fitting them
success          the probability that an evaluation succeeds
transfer         learning from earlier tasks
"""
