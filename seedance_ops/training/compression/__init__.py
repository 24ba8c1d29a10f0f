"""Gradient compression: ways to average gradients over ranks, behind one interface."""
