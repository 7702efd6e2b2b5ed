// Carries the precompiled standard headers that every room shares.
