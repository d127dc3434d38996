//! How a function explains data: likelihoods, their derivatives and distances.
