"""Against RTEC itself, where it is there: `CERNIS_RTEC` names the folder of an unpacked RTEC.

RTEC is another project under another licence. It is read and run where it lies, and nothing of it
is part of this one.
"""
