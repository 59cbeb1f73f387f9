"""Conversations to train on and to ask in the evaluation, composed from seeds."""
