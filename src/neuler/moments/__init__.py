"""One moment of a motion, traced: what can be measured of a robot at a time, along any motion and inside programmes."""
