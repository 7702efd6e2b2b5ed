// Carries the precompiled standard headers that every module shares.
