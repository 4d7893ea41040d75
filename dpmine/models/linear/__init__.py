"""Private linear classifiers: logistic regression and the Huber support vector classifier."""
