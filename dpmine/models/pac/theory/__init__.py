"""What the papers' learning theory needs: covers of infinite classes, the private learners, sample bounds."""
